package portforward

import (
	"context"
	"net/http"

	"k8s.io/client-go/rest"
	"k8s.io/streaming/pkg/httpstream"
	"k8s.io/streaming/pkg/httpstream/spdy"
)

// protocol is how a port is forwarded (client-go, tools/portforward).
const protocol = "portforward.k8s.io"

// NewClient returns a way to a cluster by HTTP/1.1, of which a connection can be had (client-go's own ways to
// forward a port keep to no Dial of the configuration). It has no timeout: the connection would end with it.
func NewClient(config *rest.Config) (*http.Client, error) {
	config = rest.CopyConfig(config)
	config.NextProtos, config.Timeout = []string{"http/1.1"}, 0
	return rest.HTTPClientFor(config)
}

// NewRequest asks the subresource portforward of a pod, at an address, for a connection.
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
