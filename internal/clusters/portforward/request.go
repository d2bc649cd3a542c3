package portforward

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// protocol is the protocol of port forwarding (client-go, tools/portforward).
const protocol = "portforward.k8s.io"

// NewClient returns an HTTP/1.1 client for requests that upgrade to a connection. client-go's own port forwarding ignores
// the config's Dial. The client sets no timeout, because a timeout would end the connection.
func NewClient(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.NextProtos, config.Timeout = []string{"http/1.1"}, 0
	return rest.HTTPClientFor(config)
}

// NewRequest returns an upgrade request for the subresource portforward of a pod, at an address.
func NewRequest(ctx context.Context, address string) (*http.Request, error) {
	req, err := http.NewRequestWithContext(ctx, http.MethodPost, address, nil)
	if err != nil {
		return nil, err
	}
	req.Header.Set(httpstream.HeaderConnection, httpstream.HeaderUpgrade)
	req.Header.Set(httpstream.HeaderUpgrade, spdy.HeaderSpdy31)
	req.Header.Set(httpstream.HeaderProtocolVersion, protocol)
	return req, nil
}
