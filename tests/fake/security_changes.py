"""Alters ACLs, quotas, SCRAM users and tokens of a fake cluster, as far as our tests need it.

What brokers really do is tested on real ones; these are for what those rarely answer.
"""

from typing import Any

from kafka_lagoon.protocol.messages import (
    alter_client_quotas,
    alter_user_scram_credentials,
    create_acls,
    create_delegation_token,
    delete_acls,
    expire_delegation_token,
    renew_delegation_token,
)
from kafka_lagoon.protocol.messages.describe_acls import AclDescription, DescribeAclsResource
from kafka_lagoon.protocol.messages.describe_client_quotas import ClientQuotaEntity, ClientQuotas, ClientQuotaValue
from kafka_lagoon.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsResult,
    ScramCredentialInfo,
)
from tests.fake.cluster import FakeCluster

SECURITY_DISABLED, RESOURCE_NOT_FOUND, DUPLICATE_RESOURCE, TOKEN_MISSING = 54, 91, 92, 62


def _create_acls(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    results = []
    for creation in request.creations:
        refused = state.acls is None
        if state.acls is not None:
            acl = AclDescription(
                principal=creation.principal,
                host=creation.host,
                operation=creation.operation,
                permission_type=creation.permission_type,
            )
            resource = DescribeAclsResource(
                resource_type=creation.resource_type,
                resource_name=creation.resource_name,
                pattern_type=creation.resource_pattern_type,
                acls=(acl,),
            )
            state.acls = (*state.acls, *((resource,) if resource not in state.acls else ()))
        code, text = (SECURITY_DISABLED, "No Authorizer is configured.") if refused else (0, None)
        results.append(create_acls.AclCreationResult(error_code=code, error_message=text))
    return create_acls.CreateAclsResponse(throttle_time_ms=0, results=tuple(results))


def _delete_acls(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    results = []
    for acl_filter in request.filters:
        matching = [resource for resource in state.acls or () if _is_matched(resource, acl_filter)]
        state.acls = tuple(resource for resource in state.acls or () if resource not in matching)
        results.append(
            delete_acls.DeleteAclsFilterResult(
                error_code=0, error_message=None, matching_acls=tuple(map(_matched, matching))
            )
        )
    return delete_acls.DeleteAclsResponse(throttle_time_ms=0, filter_results=tuple(results))


def _is_matched(resource: Any, acl_filter: Any) -> bool:
    (acl,) = resource.acls
    return (resource.resource_type, resource.resource_name, resource.pattern_type, acl.principal, acl.host) == (
        acl_filter.resource_type_filter,
        acl_filter.resource_name_filter,
        acl_filter.pattern_type_filter,
        acl_filter.principal_filter,
        acl_filter.host_filter,
    ) and (acl.operation, acl.permission_type) == (acl_filter.operation, acl_filter.permission_type)


def _matched(resource: Any) -> delete_acls.DeleteAclsMatchingAcl:
    (acl,) = resource.acls
    return delete_acls.DeleteAclsMatchingAcl(
        error_code=0,
        error_message=None,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        pattern_type=resource.pattern_type,
        principal=acl.principal,
        host=acl.host,
        operation=acl.operation,
        permission_type=acl.permission_type,
    )


def _alter_quotas(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    quotas = {
        tuple((part.entity_type, part.entity_name) for part in one.entity): {
            value.key: value.value for value in one.values
        }
        for one in state.quotas
    }
    for entry in request.entries:
        limits = quotas.setdefault(tuple((part.entity_type, part.entity_name) for part in entry.entity), {})
        for op in entry.ops:
            if op.remove:
                limits.pop(op.key, None)
            else:
                limits[op.key] = op.value
    if not request.validate_only:
        state.quotas = tuple(
            ClientQuotas(
                entity=tuple(ClientQuotaEntity(entity_type=kind, entity_name=name) for kind, name in entity),
                values=tuple(ClientQuotaValue(key=key, value=value) for key, value in limits.items()),
            )
            for entity, limits in quotas.items()
            if limits
        )
    return alter_client_quotas.AlterClientQuotasResponse(
        throttle_time_ms=0,
        entries=tuple(
            alter_client_quotas.AlterClientQuotaResult(error_code=0, error_message=None, entity=entry.entity)
            for entry in request.entries
        ),
    )


def _alter_scram(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    users = {user.user: {one.mechanism: one.iterations for one in user.credential_infos} for user in state.scram_users}
    named = [*request.deletions, *request.upsertions]
    results = {}
    for change in named:
        code = DUPLICATE_RESOURCE if sum(other.name == change.name for other in named) > 1 else 0
        if not code and change in request.deletions and users.get(change.name, {}).pop(change.mechanism, None) is None:
            code = RESOURCE_NOT_FOUND
        if not code and change in request.upsertions:
            users.setdefault(change.name, {})[change.mechanism] = change.iterations
        results[change.name] = code
    state.scram_users = tuple(
        DescribeUserScramCredentialsResult(
            user=user,
            error_code=0,
            error_message=None,
            credential_infos=tuple(
                ScramCredentialInfo(mechanism=mechanism, iterations=iterations)
                for mechanism, iterations in some.items()
            ),
        )
        for user, some in users.items()
        if some
    )
    return alter_user_scram_credentials.AlterUserScramCredentialsResponse(
        throttle_time_ms=0,
        results=tuple(
            alter_user_scram_credentials.AlterUserScramCredentialsResult(
                user=user, error_code=code, error_message="refused" if code else None
            )
            for user, code in results.items()
        ),
    )


def _create_token(_state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    return create_delegation_token.CreateDelegationTokenResponse(
        error_code=0,
        principal_type=request.owner_principal_type or "User",
        principal_name=request.owner_principal_name or "us",
        issue_timestamp_ms=1,
        expiry_timestamp_ms=2,
        max_timestamp_ms=3,
        token_id="token",  # noqa: S106
        hmac=b"\xff\xfe",
        throttle_time_ms=0,
    )


def _renew_token(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    known = any(token.hmac == request.hmac for token in state.tokens or ())
    return renew_delegation_token.RenewDelegationTokenResponse(
        error_code=0 if known else TOKEN_MISSING, expiry_timestamp_ms=request.renew_period_ms, throttle_time_ms=0
    )


def _expire_token(state: FakeCluster, _node: int, _version: int, request: Any) -> Any:
    known = any(token.hmac == request.hmac for token in state.tokens or ())
    state.tokens = tuple(token for token in state.tokens or () if token.hmac != request.hmac)
    return expire_delegation_token.ExpireDelegationTokenResponse(
        error_code=0 if known else TOKEN_MISSING, expiry_timestamp_ms=7, throttle_time_ms=0
    )


ANSWERS = (
    (create_acls.CREATE_ACLS, _create_acls),
    (delete_acls.DELETE_ACLS, _delete_acls),
    (alter_client_quotas.ALTER_CLIENT_QUOTAS, _alter_quotas),
    (alter_user_scram_credentials.ALTER_USER_SCRAM_CREDENTIALS, _alter_scram),
    (create_delegation_token.CREATE_DELEGATION_TOKEN, _create_token),
    (renew_delegation_token.RENEW_DELEGATION_TOKEN, _renew_token),
    (expire_delegation_token.EXPIRE_DELEGATION_TOKEN, _expire_token),
)
