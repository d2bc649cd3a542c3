package clusters

import (
	"fmt"
	"net/http"

	"k8s.io/client-go/rest"
)

// Off is the connection of a cluster that is not to be talked to, because it is lost for
// good. Every read and every write over it is an error, and none leaves this process: what
// is asked of it cannot end up in another cluster.
func Off(name string) (*Connection, error) {
	return Connect(name, &rest.Config{Host: "https://off.invalid", QPS: -1, Transport: refusing{name}})
}

// refusing is a way that leads nowhere.
type refusing struct{ name string }

// RoundTrip implements http.RoundTripper.
func (r refusing) RoundTrip(*http.Request) (*http.Response, error) {
	return nil, fmt.Errorf("cluster %s is to be recovered from: it was declared lost, and nothing is asked of it", r.name)
}
