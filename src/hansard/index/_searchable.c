/* The twin of `_searchable` in tokens.py, which says what is done here and why; tests hold the two together.

   prepare(text) gives the bytes for FTS5, or None for a text with a character that Python must look up: accented Greek, scripts without
   spaces beyond the common ones, half a surrogate pair. Nothing is read beyond the text's size, and each write makes room for itself first. */

#define Py_LIMITED_API 0x030B0000
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <string.h>

enum { OTHER, LOWER, UPPER, DIGIT };
enum { PLAIN, APART, EMOJI, ODD };

static unsigned char classes[256];

typedef struct {
    char *data;
    size_t used, size;
} Buffer;

static int reserve(Buffer *out, size_t more) {
    if (out->size - out->used >= more) return 1;
    size_t size = out->size + out->size / 2 + more;
    char *data = size > out->size && size <= PY_SSIZE_T_MAX ? PyMem_Realloc(out->data, size) : NULL;
    if (data == NULL) return 0;
    out->data = data;
    out->size = size;
    return 1;
}

static int add(Buffer *out, const void *data, size_t length) {
    if (!reserve(out, length)) return 0;
    memcpy(out->data + out->used, data, length);
    out->used += length;
    return 1;
}

/* What the ranges of `_UNSPACED`, `_EMOJI` and `_ACCENTED` ask for: a character that stands for itself between spaces, an emoji, or Python. */
static int kind_of(unsigned long c) {
    if (c < 0x386) return PLAIN;
    if (c <= 0x390 || (c >= 0x3AA && c <= 0x3B0) || (c >= 0x3CA && c <= 0x3CE) || c == 0x401 || c == 0x451) return ODD;
    if (c < 0xE00) return PLAIN;
    if (c <= 0xEFF || (c >= 0x1000 && c <= 0x109F) || (c >= 0x1780 && c <= 0x17FF) || (c >= 0x1F00 && c <= 0x1FFF)) return ODD;
    if (c < 0x2600) return PLAIN;
    if (c <= 0x27BF || (c >= 0x1F000 && c <= 0x1FAFF)) return EMOJI;
    if (c < 0x3005 || (c > 0x3007 && c < 0x3040)) return PLAIN;
    if ((c >= 0x3041 && c <= 0x3096) || (c >= 0x30A1 && c <= 0x30FA) || (c >= 0x3400 && c <= 0x4DBF) ||
        (c >= 0x4E00 && c <= 0x9FFC) || (c >= 0xAC00 && c <= 0xD7A3))
        return APART;
    if (c <= 0x312F || (c >= 0x31F0 && c <= 0x31FF) || (c >= 0xA960 && c <= 0xA97F) || (c >= 0xD7A4 && c <= 0xD7FF) ||
        (c >= 0x9FFD && c <= 0x9FFF) || (c >= 0xF900 && c <= 0xFAFF) || (c >= 0xFF66 && c <= 0xFF9D) || (c >= 0x20000 && c <= 0x3FFFF))
        return ODD;
    return PLAIN;
}

/* One run of letters and digits, cut at camel borders, and each part where letters and digits meet. */
static int add_word(Buffer *out, const unsigned char *text, size_t length) {
    size_t start = 0;
    if (!reserve(out, 2 * length)) return 0; /* at most one space before each */
    while (start < length) {
        size_t end = start + 1, border = 0;
        int last = classes[text[start]], changes = 0;
        for (; end < length; end++) {
            int class = classes[text[end]];
            if (class == UPPER) {
                int next = end + 1 < length ? classes[text[end + 1]] : OTHER;
                if (last == LOWER || (next == LOWER && (last == DIGIT || (end + 2 < length && classes[text[end + 2]] == LOWER)))) break;
            }
            if ((class == DIGIT) != (last == DIGIT)) {
                changes++;
                border = end;
            }
            last = class;
        }
        size_t first = changes == 1 && (last != DIGIT || border - start > 1) ? border - start : end - start;
        if (start) out->data[out->used++] = ' ';
        memcpy(out->data + out->used, text + start, first);
        out->used += first;
        if (start + first < end) {
            out->data[out->used++] = ' ';
            memcpy(out->data + out->used, text + start + first, end - start - first);
            out->used += end - start - first;
        }
        start = end;
    }
    return 1;
}

static int is_word(unsigned char byte) { return classes[byte] != OTHER; }

static int is_language(const unsigned char *text, size_t at, size_t size) {
    return at > 0 && strchr("CFcf", text[at - 1]) != NULL && text[at - 1] && !(at + 1 < size && is_word(text[at + 1])) &&
           !(at > 1 && (is_word(text[at - 2]) || text[at - 2] >= 0x80));
}

/* 1: done; 0: no memory; -1: Python must look at it. */
static int prepare_bytes(Buffer *out, const unsigned char *text, size_t size) {
    size_t at = 0, copied = 0; /* what stands between the two is taken over as it is */
    while (at < size) {
        unsigned char byte = text[at];
        size_t length = 1;
        if (is_word(byte)) {
            while (at + length < size && is_word(text[at + length])) length++;
            if (!add(out, text + copied, at - copied) || !add_word(out, text + at, length)) return 0;
            copied = at + length;
        } else if (byte >= 0x80) {
            unsigned long code = byte & (byte >= 0xF0 ? 0x07 : byte >= 0xE0 ? 0x0F : 0x1F);
            length = byte >= 0xF0 ? 4 : byte >= 0xE0 ? 3 : 2;
            if (length > size - at) return -1;
            for (size_t i = 1; i < length; i++) code = code << 6 | (text[at + i] & 0x3F);
            int kind = kind_of(code);
            if (kind == ODD) return -1;
            if (kind != PLAIN) {
                unsigned char own[6] = {' ', 0xF3, 0xB0 | ((code >> 12) & 0xF), 0x80 | ((code >> 6) & 0x3F), 0x80 | (code & 0x3F), ' '};
                if (!add(out, text + copied, at - copied)) return 0;
                if (kind == EMOJI ? !add(out, own, 6) : !(add(out, " ", 1) && add(out, text + at, length) && add(out, " ", 1))) return 0;
                copied = at + length;
            }
        } else if (byte == '+' && at + 1 < size && text[at + 1] == '+') {
            length = 2;
            if (!add(out, text + copied, at - copied) || !add(out, " plusplus ", 10)) return 0;
            copied = at + length;
        } else if (byte == '#' && is_language(text, at, size)) {
            if (!add(out, text + copied, at - copied) || !add(out, " sharp ", 7)) return 0;
            copied = at + length;
        }
        at += length;
    }
    return add(out, text + copied, size - copied);
}

static PyObject *prepare(PyObject *module, PyObject *text) {
    (void)module;
    if (!PyUnicode_Check(text)) {
        PyErr_SetString(PyExc_TypeError, "prepare() takes a str");
        return NULL;
    }
    Py_ssize_t size;
    const char *data = PyUnicode_AsUTF8AndSize(text, &size);
    if (data == NULL) {
        if (!PyErr_ExceptionMatches(PyExc_UnicodeEncodeError)) return NULL;
        PyErr_Clear();
        Py_RETURN_NONE;
    }
    Buffer out = {NULL, 0, 0};
    PyObject *found = NULL;
    int done = reserve(&out, (size_t)size + (size_t)size / 8 + 64) ? prepare_bytes(&out, (const unsigned char *)data, (size_t)size) : 0;
    if (done > 0) {
        found = PyBytes_FromStringAndSize(out.data, (Py_ssize_t)out.used);
    } else if (done < 0) {
        found = Py_None;
        Py_INCREF(found);
    } else {
        PyErr_NoMemory();
    }
    PyMem_Free(out.data);
    return found;
}

static PyMethodDef methods[] = {
    {"prepare", prepare, METH_O, "The text with spaces where FTS5 is to cut it, or None where Python must do it."},
    {NULL, NULL, 0, NULL},
};

static PyModuleDef_Slot slots[] = {{0, NULL}};

static struct PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "hansard.index._searchable", "Texts as the full-text index takes them.", 0, methods, slots, NULL, NULL, NULL,
};

PyMODINIT_FUNC PyInit__searchable(void) {
    for (int byte = 0; byte < 128; byte++)
        classes[byte] = byte >= 'a' && byte <= 'z' ? LOWER : byte >= 'A' && byte <= 'Z' ? UPPER : byte >= '0' && byte <= '9' ? DIGIT : OTHER;
    return PyModuleDef_Init(&definition);
}
