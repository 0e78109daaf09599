# shellcheck shell=bash
# Starts the proxies, and the servers that ask for NTLM. Sourced by servers.sh.
#
# tinyproxy and microsocks make their connections from 127.0.0.2, so that a server sees who comes through them.

# start_tinyproxy NAME [LINE]: one more line of configuration.
start_tinyproxy() {
    local name=$1 file=$servers_directory/$1.conf
    cat >"$file" <<CONFIGURATION
Port ${ports[$name]}
Listen 127.0.0.1
Bind 127.0.0.2
Timeout 60
MaxClients 1000
LogLevel Warning
ViaProxyName "$name"
${2-}
CONFIGURATION
    start_server "$name" "${ports[$name]}" tinyproxy -d -c "$file"
}

# Fronts of tinyproxy for clients that come by TLS, the second for those with a certificate. Each connection has one of
# its own behind it: tinyproxy ends its connections at any moment, so that none can be kept for another client.
start_fronts() {
    local certificate=$1 file=$servers_directory/haproxy.conf
    cat "$certificate.pem" "$certificate.key" >"$servers_directory/haproxy.pem"
    cat >"$file" <<CONFIGURATION
defaults
    mode tcp
    timeout connect 10s
    timeout client 60s
    timeout server 60s
    default_backend tinyproxy
frontend everyone
    bind 127.0.0.1:${ports[haproxy]} ssl crt $servers_directory/haproxy.pem
frontend clients
    bind 127.0.0.1:${ports[haproxy_client]} ssl crt $servers_directory/haproxy.pem ca-file ${certificate%/*}/ca.pem verify required
backend tinyproxy
    server tinyproxy 127.0.0.1:${ports[tinyproxy]}
CONFIGURATION
    start_server haproxy "${ports[haproxy]}" haproxy -db -f "$file"
}

# Named after their ports; TestServers.swift says what each one is.
start_proxies() {
    local python=$1 certificate=$servers_directory/certificates/server
    start_tinyproxy tinyproxy
    start_tinyproxy tinyproxy_auth "BasicAuth user secret"
    start_fronts "$certificate"
    start_server microsocks "${ports[microsocks]}" microsocks -i 127.0.0.1 -p "${ports[microsocks]}" -b 127.0.0.2
    start_server microsocks_auth "${ports[microsocks_auth]}" microsocks -i 127.0.0.1 \
        -p "${ports[microsocks_auth]}" -b 127.0.0.2 -u user -P secret
    start_server socks_echo "${ports[socks_echo]}" "$python" "$servers_sources/socks_echo.py" "${ports[socks_echo]}"
    start_server ntlm "${ports[ntlm]}" "$python" "$servers_sources/ntlm.py" "${ports[ntlm]}"
}

export_proxies() {
    export BLUEBONNET_PROXY=http://127.0.0.1:${ports[tinyproxy]}
    export BLUEBONNET_PROXY_AUTH=http://127.0.0.1:${ports[tinyproxy_auth]}
    export BLUEBONNET_PROXY_TLS=https://127.0.0.1:${ports[haproxy]}
    export BLUEBONNET_PROXY_TLS_CLIENT=https://127.0.0.1:${ports[haproxy_client]}
    export BLUEBONNET_SOCKS=socks5h://127.0.0.1:${ports[microsocks]}
    export BLUEBONNET_SOCKS_AUTH=socks5h://127.0.0.1:${ports[microsocks_auth]}
    export BLUEBONNET_SOCKS_ECHO=socks5h://127.0.0.1:${ports[socks_echo]}
    export BLUEBONNET_NTLM=http://127.0.0.1:${ports[ntlm]}
}
