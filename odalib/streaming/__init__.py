"""Streams beyond memory: pipelines that learn as they go, and fits of chunks.

`StreamingPipeline` is scikit-learn's Pipeline with a ``partial_fit``; `fit_stream`
teaches an estimator a stream of chunks, with checkpoints, progress and scores of
predictions that were made before the rows were learnt.

The public names below are imported on first use.
"""

from odalib._first_use import on_first_use

TYPE_CHECKING = False
if TYPE_CHECKING:
    from odalib.streaming.fit import fit_stream
    from odalib.streaming.pipeline import StreamingPipeline, make_streaming_pipeline
    from odalib.streaming.result import StreamResult

__all__ = [
    "StreamResult",
    "StreamingPipeline",
    "fit_stream",
    "make_streaming_pipeline",
]

_HOMES = {
    "StreamResult": "odalib.streaming.result",
    "StreamingPipeline": "odalib.streaming.pipeline",
    "fit_stream": "odalib.streaming.fit",
    "make_streaming_pipeline": "odalib.streaming.pipeline",
}

__getattr__, __dir__ = on_first_use(globals(), _HOMES)
