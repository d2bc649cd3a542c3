package move

import (
	"context"
	"fmt"
	"testing"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcscrd "sigs.k8s.io/mcs-api/config/crd"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"
	"sigs.k8s.io/yaml"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// installMCS installs the Multi-Cluster Services API in both clusters.
var installMCS = harness.OnceInBoth(define(mcscrd.ServiceExportCRD))

// define returns a function that creates a resource definition in a cluster.
func define(data []byte) func(harness.Cluster) error {
	return func(at harness.Cluster) error {
		c, err := harness.Client(at)
		if err != nil {
			return err
		}
		crd := &apiextensionsv1.CustomResourceDefinition{}
		if err := yaml.Unmarshal(data, crd); err != nil {
			return err
		}
		return fixture.Create(context.Background(), c, crd)
	}
}

func exported(spec *api.MigrationSpec) { spec.Services.Export = true }

// TestExports: the destination's export is created before the first handoff, and the source's export is deleted
// last.
func TestExports(t *testing.T) {
	v, from, to := newExporting(t, 2, exported)
	first := true
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		if !outcome.Wrote || outcome.Decision.Effect.Verb != plan.ScaleDown || !first {
			return nil
		}
		first = false
		for _, c := range []client.Client{from, to} {
			if err := c.Get(v.Ctx, v.export(), &mcsv1beta1.ServiceExport{}); err != nil {
				return fmt.Errorf("at the first handoff: %w", err)
			}
		}
		return nil
	})
	v.ExpectMoved()
	v.Must(to.Get(v.Ctx, v.export(), &mcsv1beta1.ServiceExport{}))
	if err := from.Get(v.Ctx, v.export(), &mcsv1beta1.ServiceExport{}); !apierrors.IsNotFound(err) {
		t.Errorf("the source's export is still there: %v", err)
	}
	v.Audit()
}

// TestExportConflict: the migration stalls before an ordinal moves, and continues when the conflict is
// resolved.
func TestExportConflict(t *testing.T) {
	v, _, to := newExporting(t, 1, exported)
	stalled := false
	v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
		switch hold := outcome.Decision.Hold; {
		case outcome.Wrote && outcome.Decision.Effect.Verb == plan.CreateExport && outcome.Decision.Effect.Side == plan.DestinationSide:
			return v.conflict(to, metav1.ConditionTrue)
		case hold != nil && hold.Stalled && !stalled:
			stalled = true
			if hold.Reason != api.ReasonExportConflict {
				return fmt.Errorf("stalled with %s: %s", hold.Reason, hold.Message)
			}
			return v.conflict(to, metav1.ConditionFalse)
		}
		return nil
	})
	if !stalled {
		t.Error("it did not stall")
	}
	v.ExpectMovedCleanly()
}

func (v *move) clients() (from, to client.Client) {
	v.T.Helper()
	from, err := harness.Client(v.From)
	v.Must(err)
	to, err = harness.Client(v.To)
	v.Must(err)
	return from, to
}

func (v *move) export() client.ObjectKey {
	return client.ObjectKey{Namespace: v.ToNamespace, Name: v.App.Name}
}

// awaitExports waits until both clusters serve ServiceExports.
func (v *move) awaitExports(clients ...client.Client) {
	v.T.Helper()
	for _, c := range clients {
		v.Eventually("ServiceExports are served", func(ctx context.Context) (bool, error) {
			err := c.List(ctx, &mcsv1beta1.ServiceExportList{})
			return err == nil, nil
		})
	}
}

// conflict sets the Conflict condition, as the controller of the Multi-Cluster Services API does.
func (v *move) conflict(c client.Client, status metav1.ConditionStatus) error {
	export := &mcsv1beta1.ServiceExport{}
	if err := c.Get(v.Ctx, v.export(), export); err != nil {
		return err
	}
	meta.SetStatusCondition(&export.Status.Conditions, metav1.Condition{
		Type: string(mcsv1beta1.ServiceExportConditionConflict), Status: status, Reason: "PortConflict", Message: "ports differ",
	})
	return c.Status().Update(v.Ctx, export)
}
