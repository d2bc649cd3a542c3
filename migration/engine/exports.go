package engine

import (
	"context"
	"slices"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1alpha1 "sigs.k8s.io/mcs-api/pkg/apis/v1alpha1"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
)

// exportsAgain is how often discovery is repeated for a cluster that served no ServiceExport. The definition
// may be installed while a migration waits for it.
const exportsAgain = 30 * time.Second

// learnExports discovers which version of ServiceExport the clusters serve, for a migration that requests
// exports of the application's Services or of receivers, from its beginning or later.
func (e *Engine) learnExports(ctx context.Context, m *api.Migration, places []*endpoint.Endpoint) error {
	if !m.AcceptedServices().Exports() && !m.ExportsReceivers() || !e.asksForExports(places) {
		return nil
	}
	again := !e.exportsAsked.IsZero()
	for _, p := range places {
		if p.ExportVersion != "" {
			continue
		}
		version, err := e.exportVersion(ctx, p)
		if err != nil && !again {
			return err
		}
		p.ExportVersion = version // if a repeated discovery fails, nothing changes
	}
	e.exportsAsked = e.clock.Now()
	return nil
}

// asksForExports reports whether discovery is due.
func (e *Engine) asksForExports(places []*endpoint.Endpoint) bool {
	lacks := slices.ContainsFunc(places, func(p *endpoint.Endpoint) bool { return p.ExportVersion == "" })
	return lacks && (e.exportsAsked.IsZero() || e.clock.Since(e.exportsAsked) >= exportsAgain)
}

// exportVersion returns the newest version of ServiceExport that a side serves; empty if it serves none.
func (e *Engine) exportVersion(ctx context.Context, p *endpoint.Endpoint) (newest string, err error) {
	for version, object := range map[string]client.Object{mcsv1alpha1.GroupVersion.Version: &mcsv1alpha1.ServiceExport{}, mcsv1beta1.GroupVersion.Version: &mcsv1beta1.ServiceExport{}} {
		served, err := e.connections[p.Side].Serves(ctx, object)
		if err != nil {
			return "", err
		}
		if served {
			newest = max(newest, version)
		}
	}
	return newest, nil
}
