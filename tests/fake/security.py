"""Answers about client quotas, SCRAM users and delegation tokens from the state of a fake cluster.

Fake brokers are as old ones, without these APIs, unless a test adds them to those that they speak.
"""

from typing import Any

from kafka_lagoon.protocol.messages import (
    describe_client_quotas,
    describe_delegation_token,
    describe_user_scram_credentials,
)
from tests.fake.cluster import FakeCluster

CLUSTER_AUTHORIZATION_FAILED, TOKENS_DISABLED = 31, 61


def _describe_client_quotas(state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    refused = not state.cluster_operations
    return describe_client_quotas.DescribeClientQuotasResponse(
        error_code=CLUSTER_AUTHORIZATION_FAILED if refused else 0, entries=None if refused else state.quotas
    )


def _describe_scram_users(state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    refused = not state.cluster_operations
    return describe_user_scram_credentials.DescribeUserScramCredentialsResponse(
        error_code=CLUSTER_AUTHORIZATION_FAILED if refused else 0, results=() if refused else state.scram_users
    )


def _describe_tokens(state: FakeCluster, _node: int, _version: int, _request: Any) -> Any:
    disabled = state.tokens is None
    return describe_delegation_token.DescribeDelegationTokenResponse(
        error_code=TOKENS_DISABLED if disabled else 0, tokens=state.tokens or ()
    )


ANSWERS = (
    (describe_client_quotas.DESCRIBE_CLIENT_QUOTAS, _describe_client_quotas),
    (describe_user_scram_credentials.DESCRIBE_USER_SCRAM_CREDENTIALS, _describe_scram_users),
    (describe_delegation_token.DESCRIBE_DELEGATION_TOKEN, _describe_tokens),
)
