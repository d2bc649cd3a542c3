package main

import (
	"context"
	"errors"

	rbacv1 "k8s.io/api/rbac/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

// install puts the resource definitions into east and the shipped roles into both
// clusters, and returns a client of east. The Deployment is left out: what is
// measured is a process of this machine.
func (b *bench) install(ctx context.Context) (client.Client, error) {
	east, err := fixture.Client(b.east.RESTConfig())
	if err != nil {
		return nil, err
	}
	west, err := fixture.Client(b.west.RESTConfig())
	if err != nil {
		return nil, err
	}
	if err := fixture.InstallCRDs(ctx, east); err != nil {
		return nil, err
	}
	return east, errors.Join(fixture.InstallRoles(ctx, east), fixture.InstallRoles(ctx, west))
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}
