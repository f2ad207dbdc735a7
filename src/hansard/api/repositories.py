"""git repositories: blame, commits, notes and lost sessions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.api.sessions import SessionMethods
from hansard.model.questions import takes
from hansard.quick_imports import LazyPackage

if TYPE_CHECKING:
    import hansard.git.blame
    import hansard.git.commit_message
    import hansard.git.commits
    import hansard.git.recovery
    import hansard.git.repository
    import hansard.model.blame
    import hansard.model.recovery
    import hansard.model.store_requests
    from hansard import model
else:
    hansard = LazyPackage("hansard")
    model = hansard.model


class RepositoryMethods(SessionMethods):
    """Methods about repositories."""

    @takes(lambda: model.store_requests.BlameRequest)
    def blame(self, request: model.store_requests.BlameRequest) -> model.blame.BlameReport:
        """For each line of a file the commit, and the session and turn whose edit wrote it."""
        return hansard.git.blame.blame_file(self._threads(), self._edit_cache(), request)

    def blame_commit(self, commit: str, repository: str) -> model.blame.CommitReport:
        """For each line that a commit added the session and turn whose edit wrote it; `repository` is a folder in it."""
        return hansard.git.blame.blame_commit(self._threads(), self._edit_cache(), commit, repository)

    def find_commit(self, name: str, repository: str) -> str | None:
        """The full hash of a commit; None if the repository has no such commit."""
        return hansard.git.repository.Repository.find(repository).resolve(name)

    @takes(lambda: model.store_requests.CommitsRequest)
    def commits(self, request: model.store_requests.CommitsRequest) -> model.blame.CommitPage:
        """The commits that a session contributed to, or those of all sessions in a repository; the newest first.

        `repository` is a folder in it; without it the session's project is used. `progress` is called with the number of commits
        read and the number to read.
        """
        about = self.session(request.session) if request.session is not None else None
        return hansard.git.commits.list_commits(self._threads(), self._edit_cache(), about, request)

    def git_words(self, session: str, *, prefix: str = "") -> hansard.git.commit_message.SessionWords:
        """A branch name, a commit message and a trailer for a session; `prefix` is put before the branch name."""
        return hansard.git.commit_message.words_of(self._threads(), self.session(session), prefix)

    @takes(lambda: model.store_requests.LostSessionsRequest)
    def lost_sessions(self, request: model.store_requests.LostSessionsRequest) -> model.recovery.LostSessions:
        """Sessions whose transcript is gone from the record and every root, and what is left of them; the newest first."""
        return hansard.git.recovery.list_lost(self.reader, self._record_or_none(), request)

    def reconstruct(self, name: str) -> model.recovery.Reconstruction:
        """A lost session as far as other files and the project's repository have it: not a transcript, and marked so."""
        return hansard.git.recovery.reconstruct(self.reader, self.record, name)

    def _commit_map(self, repository: str | None = None) -> hansard.git.commits.CommitMap:
        return hansard.git.commits.map_all(self._threads(), self._edit_cache(), repository)
