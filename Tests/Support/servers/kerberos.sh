# shellcheck shell=bash
# Starts a Kerberos realm of the tests' own, and an Apache that authenticates with it. Sourced by servers.sh.
#
# Everything is in the directory `kerberos`: krb5.conf, the KDC's database, the keytab of the service HTTP/localhost, and
# the tickets of user@BLUEBONNET.TEST, in `tickets`. The system's own configuration is neither read nor written.

readonly KERBEROS_REALM=BLUEBONNET.TEST

write_kerberos_configuration() {
    cat >"$1/krb5.conf" <<CONFIGURATION
[libdefaults]
default_realm = $KERBEROS_REALM
dns_lookup_kdc = false
dns_lookup_realm = false
dns_canonicalize_hostname = false
rdns = false
[realms]
$KERBEROS_REALM = {
    kdc = 127.0.0.1:${ports[kdc]}
}
[domain_realm]
localhost = $KERBEROS_REALM
[logging]
kdc = STDERR
default = STDERR
CONFIGURATION
    # The same realm, whose KDC nobody reaches: nothing listens on port 1.
    sed "s/kdc = .*/kdc = 127.0.0.1:1/" "$1/krb5.conf" >"$1/unreachable.conf"
    cat >"$1/kdc.conf" <<CONFIGURATION
[realms]
$KERBEROS_REALM = {
    database_name = $1/principal
    key_stash_file = $1/stash
    acl_file = $1/kadm5.acl
    kdc_listen = 127.0.0.1:${ports[kdc]}
    kdc_tcp_listen = 127.0.0.1:${ports[kdc]}
    supported_enctypes = aes256-cts-hmac-sha1-96:normal
}
CONFIGURATION
}

# Makes the realm and its principals, and leaves the keytabs beside the database.
make_realm() {
    kdb5_util create -s -r "$KERBEROS_REALM" -P master-key-of-the-tests
    kadmin.local -q "addprinc -randkey HTTP/localhost"
    kadmin.local -q "addprinc -randkey user"
    kadmin.local -q "ktadd -k $1/service.keytab HTTP/localhost"
    kadmin.local -q "ktadd -k $1/user.keytab user"
}

# Apache's processes read the configuration and the keytab as another user when this is root.
write_apache_configuration() {
    local directory=$1 module user=""
    mkdir -p "$directory/htdocs/negotiate" "$directory/htdocs/digest"
    for module in negotiate digest; do echo "$module" >"$directory/htdocs/$module/index.txt"; done
    [[ $EUID -ne 0 ]] || user="User www-data"
    # The hash is that of "user:tests:secret".
    printf 'user:tests:%s\n' "$(printf user:tests:secret | md5sum | cut -d ' ' -f 1)" >"$directory/digest.txt"
    {
        for module in mpm_event authn_core authn_file authz_core authz_user auth_digest auth_gssapi proxy proxy_http \
            proxy_connect headers; do
            echo "LoadModule ${module}_module /usr/lib/apache2/modules/mod_$module.so"
        done
        cat <<CONFIGURATION
ServerRoot $directory
ServerName localhost
PidFile $directory/apache.pid
DefaultRuntimeDir $directory
Mutex pthread
ErrorLog /dev/stderr
$user
KeepAliveTimeout 60
Listen 127.0.0.1:${ports[apache]}
Listen 127.0.0.1:${ports[apache_proxy_negotiate]}
Listen 127.0.0.1:${ports[apache_proxy_digest]}
<VirtualHost 127.0.0.1:${ports[apache]}>
    DocumentRoot $directory/htdocs
    Header set X-User expr=%{REMOTE_USER}
    <Location />
        AuthType GSSAPI
        AuthName tests
        GssapiCredStore keytab:$directory/service.keytab
        GssapiAllowedMech krb5
        Require valid-user
    </Location>
    <Location /digest>
        AuthType Digest
        AuthName tests
        AuthUserFile $directory/digest.txt
    </Location>
</VirtualHost>
<VirtualHost 127.0.0.1:${ports[apache_proxy_negotiate]}>
    ProxyRequests On
    AllowCONNECT 1-65535
    <Proxy *>
        AuthType GSSAPI
        AuthName tests
        GssapiCredStore keytab:$directory/service.keytab
        GssapiAllowedMech krb5
        Require valid-user
    </Proxy>
</VirtualHost>
<VirtualHost 127.0.0.1:${ports[apache_proxy_digest]}>
    ProxyRequests On
    AllowCONNECT 1-65535
    <Proxy *>
        AuthType Digest
        AuthName tests
        AuthUserFile $directory/digest.txt
        Require valid-user
    </Proxy>
</VirtualHost>
CONFIGURATION
    } >"$directory/apache.conf"
    chmod -R a+rX "$directory/htdocs"
    chmod a+r "$directory/service.keytab" "$directory/digest.txt" "$directory/krb5.conf"
}

start_kerberos() {
    local directory=$servers_directory/kerberos
    mkdir -p "$directory"
    # What is in it is of no use to anybody when the tests are over.
    chmod a+x "$servers_directory" "$directory"
    write_kerberos_configuration "$directory"
    (
        export KRB5_CONFIG=$directory/krb5.conf KRB5_KDC_PROFILE=$directory/kdc.conf
        make_realm "$directory"
    ) >"$servers_directory/logs/realm.log" 2>&1 || { cat "$servers_directory/logs/realm.log" >&2 && return 1; }
    start_server kdc "${ports[kdc]}" env "KRB5_CONFIG=$directory/krb5.conf" "KRB5_KDC_PROFILE=$directory/kdc.conf" \
        krb5kdc -n -P "$directory/kdc.pid"
    write_apache_configuration "$directory"
    start_server apache "${ports[apache]}" env "KRB5_CONFIG=$directory/krb5.conf" KRB5RCACHENAME=none: \
        apache2 -f "$directory/apache.conf" -DFOREGROUND
}

# Fetches the user's ticket, for a day; the KDC must be there. A client adds those for services; "first" is left as it is.
export_kerberos() {
    local directory=$servers_directory/kerberos cache
    for cache in tickets first; do
        KRB5_CONFIG=$directory/krb5.conf kinit -l 1d -c "$directory/$cache" -k -t "$directory/user.keytab" user
    done
    export BLUEBONNET_KERBEROS=$directory
    export BLUEBONNET_APACHE=http://localhost:${ports[apache]}
    export BLUEBONNET_PROXY_NEGOTIATE=http://localhost:${ports[apache_proxy_negotiate]}
    export BLUEBONNET_PROXY_DIGEST=http://localhost:${ports[apache_proxy_digest]}
}
