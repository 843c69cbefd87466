"""The login module line of a Java client is converted to our settings."""

import pytest

from kafka_lagoon import jaas


def test_a_modules_options_become_settings() -> None:
    """Every login module of Kafka is understood; options that only Java needs are left out."""
    assert jaas.settings_of(
        "a.OAuthBearerLoginModule required clientId=c clientSecret='s' scope=\"a b\" extension_pool=x;"
    ) == {
        "sasl_oauthbearer_client_id": "c",
        "sasl_oauthbearer_client_secret": "s",
        "sasl_oauthbearer_scope": "a b",
        "sasl_oauthbearer_extensions": "pool=x",
    }
    kerberos = 'com.sun.security.auth.module.Krb5LoginModule required useKeyTab=true keyTab="/k" principal="me@A.B";'
    assert jaas.settings_of(kerberos) == {"sasl_kerberos_keytab": "/k", "sasl_kerberos_principal": "me@A.B"}


@pytest.mark.parametrize("flag", ["required", "REQUIRED", "Sufficient"])
def test_the_control_flag_has_any_case(flag: str) -> None:
    """Kafka's clients ignore the case of the word after the module."""
    assert jaas.settings_of(f"a.PlainLoginModule {flag} username=x;") == {"sasl_username": "x"}


@pytest.mark.parametrize(
    ("line", "fault"),
    [
        ("a.PlainLoginModule required username=x", "end with a semicolon"),
        ("a.PlainLoginModule required username;", "options must be"),
        ("a.OtherModule required;", "the login module is not one of PlainLoginModule, "),
        (
            'a.ScramLoginModule required username=x passwort="hunter2";',
            "option 2 of ScramLoginModule is not one of username, password, tokenauth, doNotPrompt",
        ),
        ('a.PlainLoginModule required username=x password="a"hunter2=x;', "option 3 is not"),
        (
            'a.PlainLoginModule required username=x password="a" hunter2=x;',
            "option 3 of PlainLoginModule is not one of",
        ),
        ("a.PlainLoginModule required username=x password=a;hunter2;", "option 3 is not"),
        ("hunter2 required username=x;", "the login module is not one of"),
        ("hunter2", "end with a semicolon"),
    ],
)
def test_what_cannot_be_read_is_named_without_values(line: str, fault: str) -> None:
    """The error names the position and the valid options, but no text of the line, which may be part of a password."""
    with pytest.raises(ValueError, match=fault) as raised:
        jaas.settings_of(line)
    assert "hunter2" not in str(raised.value)


def test_escapes_in_quotes() -> None:
    """A value in either quotes may contain quotes, escapes, semicolons and spaces; an unquoted value is taken literally."""
    line = r'a.PlainLoginModule required username="a\"b; c" password=p\w;'
    assert jaas.settings_of(line) == {"sasl_username": 'a"b; c', "sasl_password": r"p\w"}
    line = r"""a.PlainLoginModule required username='s3 "cret"+/;' password='\t\101\'';"""
    assert jaas.settings_of(line) == {"sasl_username": 's3 "cret"+/;', "sasl_password": "\tA'"}
