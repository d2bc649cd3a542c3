package clusters

import (
	"fmt"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Lender returns a client with the identity that impersonates. A manager impersonates the ServiceAccount of a Migration,
// which is user. If the connection has an identity of its own, there is no lender.
func (c *Connection) Lender() (lender client.Client, user string, err error) {
	user = c.core.config.Impersonate.UserName
	if user == "" {
		return nil, "", nil
	}
	config := rest.CopyConfig(c.core.config)
	config.Impersonate = rest.ImpersonationConfig{}
	lender, err = client.New(config, client.Options{Scheme: c.core.scheme, Mapper: c.core.mapper})
	if err != nil {
		return nil, "", fmt.Errorf("cluster %s: %w", c.name, err)
	}
	return lender, user, nil
}
