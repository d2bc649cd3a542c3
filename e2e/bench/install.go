package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// install puts the resource definitions into east and the shipped roles into both
// clusters, and returns a client of east. The Deployment is left out: what is
// measured is a process of this machine.
func (b *bench) install(ctx context.Context) (client.Client, error) {
	var east client.Client
	for _, each := range []*cluster.Cluster{b.west, b.east} {
		c, err := fixture.Client(each.RESTConfig())
		if err != nil {
			return nil, err
		}
		if err := fixture.InstallRoles(ctx, c); err != nil {
			return nil, fmt.Errorf("cluster %s: %w", each.Name(), err)
		}
		east = c
	}
	return east, fixture.InstallCRDs(ctx, east)
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}
