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

# start_front NAME CERTIFICATE [OPTIONS]: connections to tinyproxy are hardly kept, since that ends them at any moment,
# and a request that is sent on one then is answered with 502.
start_front() {
    local name=$1 certificate=$2
    shift 2
    start_server "$name" "${ports[$name]}" nghttpx --conf=/dev/null --http2-proxy --single-process --workers=1 \
        --frontend="127.0.0.1,${ports[$name]}" --backend="127.0.0.1,${ports[tinyproxy]}" --accesslog-file=/dev/null \
        --backend-connections-per-host=1000 --backend-keep-alive-timeout=1ms "$@" "$certificate.key" "$certificate.pem"
}

# Named after their ports; TestServers.swift says what each one is.
start_proxies() {
    local python=$1 certificate=$servers_directory/certificates/server
    start_tinyproxy tinyproxy
    start_tinyproxy tinyproxy_auth "BasicAuth user secret"
    # The fronts of the first one for those who come by TLS, the second with a certificate.
    start_front nghttpx "$certificate"
    start_front nghttpx_client "$certificate" --verify-client --verify-client-cacert="${certificate%/*}/ca.pem"
    start_server microsocks "${ports[microsocks]}" microsocks -i 127.0.0.1 -p "${ports[microsocks]}" -b 127.0.0.2
    start_server microsocks_auth "${ports[microsocks_auth]}" microsocks -i 127.0.0.1 \
        -p "${ports[microsocks_auth]}" -b 127.0.0.2 -u user -P secret
    start_server socks_echo "${ports[socks_echo]}" "$python" "$servers_sources/socks_echo.py" "${ports[socks_echo]}"
    start_server ntlm "${ports[ntlm]}" "$python" "$servers_sources/ntlm.py" "${ports[ntlm]}"
}

export_proxies() {
    export BLUEBONNET_PROXY=http://127.0.0.1:${ports[tinyproxy]}
    export BLUEBONNET_PROXY_AUTH=http://127.0.0.1:${ports[tinyproxy_auth]}
    export BLUEBONNET_PROXY_TLS=https://127.0.0.1:${ports[nghttpx]}
    export BLUEBONNET_PROXY_TLS_CLIENT=https://127.0.0.1:${ports[nghttpx_client]}
    export BLUEBONNET_SOCKS=socks5h://127.0.0.1:${ports[microsocks]}
    export BLUEBONNET_SOCKS_AUTH=socks5h://127.0.0.1:${ports[microsocks_auth]}
    export BLUEBONNET_SOCKS_ECHO=socks5h://127.0.0.1:${ports[socks_echo]}
    export BLUEBONNET_NTLM=http://127.0.0.1:${ports[ntlm]}
}
