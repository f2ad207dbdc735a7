// A shared worker: one event stream for all pages of this browser, which opens at most six connections to a server.
import { listen } from "./event_stream.js";

const ports = new Set(); // of visible pages
let stop = null;
let last = null;

function tell(news) {
  last = news;
  for (const port of ports) port.postMessage(news);
}

onconnect = ({ ports: [port] }) => {
  port.onmessage = ({ data: isVisible }) => {
    if (isVisible) {
      ports.add(port);
      if (!stop) stop = listen(tell);
      else if (last) port.postMessage(last);
    } else {
      ports.delete(port);
      if (ports.size || !stop) return;
      stop();
      stop = last = null;
    }
  };
};
