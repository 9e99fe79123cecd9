"""Secrets: hidden wherever options are shown, found only when a run starts."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.cql import compile_script
from penstock.errors import PenstockError
from penstock.plan.secrets import is_secret, redact, resolve, scrub

SECRET = [
    "password", "kafka.sasl.jaas.config", "kafka.ssl.keystore.password", "kafka.ssl.key.password", "fs.s3a.access.key",
    "fs.s3a.secret.key", "awsSecretAccessKey", "accountKey", "apiKey", "api_key", "authToken", "sasToken",
    "credentials", "PASSWORD", "passphrase", "pwd", "spark.hadoop.fs.azure.account.key.store.dfs", "apikey", "pass",
    "mypassword", "secretkey", "authorization", "eventhubs.connectionString", "basic.auth.user.info", "cookie",
    "x-api-key",
]  # fmt: skip
PUBLIC = [
    "path", "subscribe", "kafka.bootstrap.servers", "key", "key_column", "kafka.ssl.keystore.location", "keyspace",
    "monkey", "format", "speed", "failOnDataLoss", "author", "passengers", "bypass", "tokenizer", "keyfile", "userName",
]  # fmt: skip


@pytest.mark.parametrize("name", SECRET)
def test_names_of_secrets(name: str) -> None:
    assert is_secret(name)
    assert redact({name: "hunter2"}) == {name: "***"}


@pytest.mark.parametrize("name", PUBLIC)
def test_names_that_are_nobodys_secret(name: str) -> None:
    assert not is_secret(name)
    assert redact({name: "plain"}) == {name: "plain"}


def test_a_number_can_be_a_secret_and_a_reference_is_none() -> None:
    shown = redact({"pwd": 1234, "token": "env:TOKEN", "secret": "file:/run/secret", "limit": 5})
    assert shown == {"pwd": "***", "token": "env:TOKEN", "secret": "file:/run/secret", "limit": 5}


def test_values_come_from_the_environment_and_from_files(tmp_path: Path) -> None:
    (tmp_path / "secret").write_text("from a file\n")
    given = {"password": f"file:{tmp_path}/secret", "url": "env:URL", "path": f"file:{tmp_path}/data", "n": 3}
    assert resolve(given, {"URL": "jdbc:x"}) == {
        "password": "from a file", "url": "jdbc:x", "path": f"file:{tmp_path}/data", "n": 3
    }  # fmt: skip


def test_everything_that_is_missing_is_said_at_once_and_no_value_is() -> None:
    with pytest.raises(PenstockError) as caught:
        resolve({"password": "env:PASWORD", "token": "file:/nowhere/token"}, {"PASSWORD": "hunter2"})
    said = str(caught.value)
    assert "option 'password': the environment has no variable 'PASWORD'" in said and "did you mean 'PASSWORD'" in said
    assert "option 'token': cannot read the file '/nowhere/token'" in said
    assert "hunter2" not in said


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("url jdbc:postgresql://me:pw@host/db failed", "url jdbc:postgresql://***@host/db failed"),
        ('JaasModule required username="u" password="p w";', 'JaasModule required username="u" password=***;'),
        ("fs.s3a.secret.key=abc, path=/x", "fs.s3a.secret.key=***, path=/x"),
        ("the value T0psecret was refused", "the value *** was refused"),
        ("nothing to hide at host:9092", "nothing to hide at host:9092"),
        ('{"password":"hunter2", "a":1}', '{"password":***, "a":1}'),
        ("Map(password -> hunter2, path -> x)", "Map(password -> ***, path -> x)"),
        ("Authorization: Bearer abc.def", "Authorization: Bearer ***"),
        ("https://u:p@ss@host/x?sig=abc&n=1", "https://***@host/x?sig=***&n=1"),
        ("sasl.jaas.config = org.Login required username=a password='b;c';", "sasl.jaas.config = ***"),
        ("identified by password 'x y'", "identified by password ***"),
        ("unexpected token ')' at line 3", "unexpected token ')' at line 3"),
    ],
)
def test_other_programs_messages(text: str, clean: str) -> None:
    assert scrub(text, {"token": "T0psecret", "topic": "host"}) == clean


def test_the_line_of_a_mistake_is_shown_without_the_secrets_in_it() -> None:
    script = (
        "CREATE STREAM s (a INT) FROM kafka OPTIONS ('kafka.sasl.jaas.config' = 'L required password=\"hunter2\";', "
        "'kafka.bootstrap.servers' = 'h:1', subscribee = 't');"
    )
    with pytest.raises(PenstockError) as caught:
        compile_script(script)
    said = str(caught.value)
    assert "did you mean 'subscribe'" in said and "hunter2" not in said
    excerpt, marks = said.splitlines()[1:3]
    assert excerpt[marks.index("^") :].startswith("subscribee")
