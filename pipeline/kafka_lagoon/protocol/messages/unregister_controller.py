"""UnregisterController (api key 94): a controller that is gone for good is forgotten.

Any broker passes the request on to the controller. A controller that is not registered is error 136.
Needs permission to alter the cluster.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct


@struct
class UnregisterControllerRequest:
    """The controller to forget."""

    controller_id: Int32


@struct
class UnregisterControllerResponse:
    """An error code, 0 if the controller was unregistered."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


UNREGISTER_CONTROLLER = Api(
    key=94,
    versions=Versions(0, 0),
    flexible=0,
    request=UnregisterControllerRequest,
    response=UnregisterControllerResponse,
)
