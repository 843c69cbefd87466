"""UnregisterBroker (api key 64): a broker that is gone for good is forgotten (KIP-500).

KRaft only: any broker passes the request on to the controller, under ZooKeeper it is error 35. A broker that is not
registered is error 102. A running broker goes on running, but is in no list until it is restarted. Its
replicas stay assigned to it: move them first. Needs permission to alter the cluster.
"""

from kafka_lagoon.wire.schema import Api, Int16, Int32, String, Versions, struct


@struct
class UnregisterBrokerRequest:
    """The broker to forget."""

    broker_id: Int32


@struct
class UnregisterBrokerResponse:
    """An error code, 0 if the broker was unregistered."""

    throttle_time_ms: Int32
    error_code: Int16
    error_message: String | None


UNREGISTER_BROKER = Api(
    key=64,
    versions=Versions(0, 0),
    flexible=0,
    request=UnregisterBrokerRequest,
    response=UnregisterBrokerResponse,
)
