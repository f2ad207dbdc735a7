"""Methods of the library that take a request, or its fields as keywords."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import TYPE_CHECKING, Any, cast

if TYPE_CHECKING:
    from typing import ParamSpec, Protocol, TypeVar, overload

    _Fields = ParamSpec("_Fields")
    _Request = TypeVar("_Request")
    _RequestIn_contra = TypeVar("_RequestIn_contra", contravariant=True)
    _Answer = TypeVar("_Answer")
    _AnswerOut_co = TypeVar("_AnswerOut_co", covariant=True)

    class Ask(Protocol[_Fields, _RequestIn_contra, _AnswerOut_co]):
        """A bound method that takes a request, or its fields."""

        @overload
        def __call__(self, request: _RequestIn_contra, /) -> _AnswerOut_co: ...
        @overload
        def __call__(self, *values: _Fields.args, **fields: _Fields.kwargs) -> _AnswerOut_co: ...

    class Question(Protocol[_Fields, _RequestIn_contra, _AnswerOut_co]):
        """A method that takes a request, or its fields."""

        @overload
        def __get__(self, engine: None, owner: type) -> Callable[..., _AnswerOut_co]: ...
        @overload
        def __get__(self, engine: object, owner: type) -> Ask[_Fields, _RequestIn_contra, _AnswerOut_co]: ...


def takes(
    find: Callable[[], Callable[_Fields, _Request]],
) -> Callable[[Callable[[Any, _Request], _Answer]], Question[_Fields, _Request, _Answer]]:
    """Let a method that takes a request also accept its fields as keywords; `find` imports the request when it is first needed."""

    def decorate(answer: Callable[[Any, _Request], _Answer]) -> Question[_Fields, _Request, _Answer]:
        @wraps(answer)
        def ask(engine: Any, /, *values: Any, **fields: Any) -> _Answer:
            request = find()
            if not fields and len(values) == 1 and isinstance(values[0], cast("type[Any]", request)):
                return answer(engine, values[0])
            return answer(engine, request(*values, **fields))

        return cast("Question[_Fields, _Request, _Answer]", ask)

    return decorate
