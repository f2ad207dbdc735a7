"""A lake: the public views of many machines as Parquet files in a directory or an object store, for DuckDB and Spark.

Each machine writes files of its own, whose names are hashes of their content, and one manifest that names those that are current. Readers
go by the manifests, and merge what several machines have with the rules of `hansard.sql.merging`. Nothing here changes the local store.

Front ends import the names below from here, and nothing from its modules.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from hansard.quick_imports import lazy_names

if TYPE_CHECKING:
    from hansard.lake.audit import LakeAudit as LakeAudit
    from hansard.lake.build import LakeBuildReport as LakeBuildReport
    from hansard.lake.push import LakeReport as LakeReport
    from hansard.lake.store import Lake as Lake
    from hansard.lake.store import LakeStatus as LakeStatus

__getattr__ = lazy_names(
    __name__, audit="LakeAudit", build="LakeBuildReport", push="LakeReport", store="Lake LakeStatus"
)
