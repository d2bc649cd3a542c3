package main

import (
	"context"
	"fmt"

	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/config"
	"github.com/sliceshift/sliceshift/e2e/cluster"
	"github.com/sliceshift/sliceshift/internal/clusters"
)

// install puts the resource definition into east and the shipped roles into both
// clusters, and returns a client of east. The Deployment is left out: what is
// measured is a process of this machine.
func (b *bench) install(ctx context.Context) (client.Client, error) {
	east, err := direct(b.east)
	if err != nil {
		return nil, err
	}
	west, err := direct(b.west)
	if err != nil {
		return nil, err
	}
	crds, err := config.CRDs()
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		if err := east.Create(ctx, crd); err != nil {
			return nil, fmt.Errorf("creating the resource definition %s: %w", crd.Name, err)
		}
		if err := awaitServed(ctx, east, crd); err != nil {
			return nil, err
		}
	}
	for _, c := range []client.Client{east, west} {
		if err := installRoles(ctx, c); err != nil {
			return nil, err
		}
	}
	return east, nil
}

func installRoles(ctx context.Context, c client.Client) error {
	objects, err := config.ManagerObjects()
	if err != nil {
		return err
	}
	for _, object := range objects {
		if object.GetKind() == "Deployment" {
			continue
		}
		if err := c.Create(ctx, object); err != nil {
			return fmt.Errorf("creating %s %s: %w", object.GetKind(), object.GetName(), err)
		}
	}
	return nil
}

func direct(c *cluster.Cluster) (client.Client, error) {
	scheme := clusters.NewScheme()
	if err := apiextensionsv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return client.New(c.RESTConfig(), client.Options{Scheme: scheme})
}

func awaitServed(ctx context.Context, c client.Client, crd *apiextensionsv1.CustomResourceDefinition) error {
	return wait.PollUntilContextCancel(ctx, lookAgain, true, func(ctx context.Context) (bool, error) {
		if err := c.Get(ctx, client.ObjectKeyFromObject(crd), crd); err != nil {
			return false, err
		}
		for _, condition := range crd.Status.Conditions {
			if condition.Type == apiextensionsv1.Established && condition.Status == apiextensionsv1.ConditionTrue {
				return true, nil
			}
		}
		return false, nil
	})
}

func account(namespace, name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: namespace, Name: name}
}

func person(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

// grant binds the roles that a migration needs.
func grant(ctx context.Context, c kubernetes.Interface, subject rbacv1.Subject) error {
	for _, role := range []string{"sliceshift-mover", "sliceshift-mover-cluster"} {
		binding := &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: role + "-bench"},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
			Subjects:   []rbacv1.Subject{subject},
		}
		if _, err := c.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
			return fmt.Errorf("binding %s: %w", role, err)
		}
	}
	return nil
}
