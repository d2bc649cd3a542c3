exec bash -c 'exec 3<>/dev/tcp/127.0.0.1/2181; echo srvr >&3; grep -q ^Mode: <&3'
