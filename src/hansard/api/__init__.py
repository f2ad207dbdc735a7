"""Methods of `hansard.Hansard` by subject; the engine adds lists, searches, the ledger and health."""
