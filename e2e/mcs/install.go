package mcs

import (
	"context"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/client-go/rest"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	"github.com/sliceshift/sliceshift/e2e/fixture"
)

const (
	poll     = 100 * time.Millisecond
	patience = 2 * time.Minute
)

// Install installs the resource definitions in a cluster and waits until they are served.
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
		if err := fixture.Define(ctx, c, crd); err != nil {
			return err
		}
	}
	return fixture.AwaitServed(ctx, c, &mcsv1beta1.ServiceExportList{}, &mcsv1beta1.ServiceImportList{})
}
