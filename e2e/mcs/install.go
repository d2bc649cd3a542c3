package mcs

import (
	"context"
	"fmt"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"
)

const (
	poll     = 100 * time.Millisecond
	patience = 2 * time.Minute
)

// Install puts the resource definitions into a cluster and waits until they are served.
func Install(ctx context.Context, at *rest.Config) error {
	c, err := newClient(at)
	if err != nil {
		return err
	}
	for _, text := range [][]byte{mcscrd.ServiceExportCRD, mcscrd.ServiceImportCRD} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(text, crd); err != nil {
			return err
		}
		if err := c.Create(ctx, crd); err != nil && !apierrors.IsAlreadyExists(err) {
			return fmt.Errorf("create %s: %w", crd.Name, err)
		}
	}
	for _, list := range []client.ObjectList{&mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{}} {
		err := wait.PollUntilContextTimeout(ctx, poll, patience, true, func(ctx context.Context) (bool, error) {
			return c.List(ctx, list) == nil, nil
		})
		if err != nil {
			return fmt.Errorf("%T is not served: %w", list, err)
		}
	}
	return nil
}
