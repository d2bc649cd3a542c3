package world

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/inplace"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/pdb"
	"github.com/sliceshift/sliceshift/volumes"
	"github.com/sliceshift/sliceshift/workload"
)

// wire records the requests to an API server.
type wire struct{ sent []string }

func (w *wire) client() client.Client {
	return fake.NewClientBuilder().WithScheme(runtime.NewScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Create: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.CreateOption) error {
			if len((&client.CreateOptions{}).ApplyOptions(options).DryRun) == 0 {
				w.sent = append(w.sent, "create "+o.GetName())
			}
			return nil
		},
		Patch: func(_ context.Context, _ client.WithWatch, o client.Object, p client.Patch, _ ...client.PatchOption) error {
			data, err := p.Data(o)
			w.sent = append(w.sent, "patch "+o.GetName()+" "+string(data))
			return err
		},
		Delete: func(_ context.Context, _ client.WithWatch, o client.Object, options ...client.DeleteOption) error {
			said := client.DeleteOptions{}
			said.ApplyOptions(options)
			text := "delete " + o.GetName()
			if p := said.Preconditions; p != nil && p.UID != nil && p.ResourceVersion != nil {
				text += " uid " + string(*p.UID) + " resourceVersion " + *p.ResourceVersion
			}
			if p := said.PropagationPolicy; p != nil && *p != metav1.DeletePropagationBackground {
				text += " " + string(*p)
			}
			w.sent = append(w.sent, text)
			return nil
		},
	}).Build()
}

// TestMarksOfSlices: the annotations that the controller of our own kind gets during a migration, and after its end.
func TestMarksOfSlices(t *testing.T) {
	const gone = `"apps.sliceshift.io/max-unavailable":null,"apps.sliceshift.io/migrating":null,"apps.sliceshift.io/split":`
	for name, tc := range map[string]struct {
		effect plan.Effect
		want   string
	}{
		"X-23 it begins":                {plan.Effect{Verb: plan.WriteFence, After: plan.SetState{Fence: "m.2"}}, `"apps.sliceshift.io/migrating":"true","migration.sliceshift.io/fence":"m.2"`},
		"X-23 it ends with one":         {plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.2"}}, gone + `"false","migration.sliceshift.io/fence":null,"migration.sliceshift.io/template":null`},
		"X-23 the application is split": {plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.2"}, After: plan.SetState{Split: true}}, gone + `"true","migration.sliceshift.io/fence":null,"migration.sliceshift.io/template":null`},
	} {
		t.Run(name, func(t *testing.T) {
			there := &wire{}
			e := &Executor{Pair: &endpoint.Pair{Source: endpoint.Endpoint{Side: plan.SourceSide, Namespace: "shop", Set: "web", APIVersion: workload.SliceVersion, Live: there.client()}}}
			tc.effect.Side, tc.effect.Name, tc.effect.UID, tc.effect.ResourceVersion = plan.SourceSide, "web", "u", "7"
			if _, err := e.Do(t.Context(), tc.effect); err != nil {
				t.Fatal(err)
			}
			if want := `patch web {"metadata":{"annotations":{` + tc.want + `},"resourceVersion":"7","uid":"u"}}`; len(there.sent) != 1 || there.sent[0] != want {
				t.Errorf("sent\n%q\nwant\n%q", there.sent, want)
			}
		})
	}
}

// TestExecute: each effect is one write, with the UID and the resourceVersion of the object that the decision was
// based on.
func TestExecute(t *testing.T) {
	judged := func(e plan.Effect) plan.Effect {
		e.Side, e.Name, e.UID, e.ResourceVersion = plan.SourceSide, "web", "u", "7"
		return e
	}
	const precondition = `"resourceVersion":"7","uid":"u"`
	volume := func(verb volumes.Verb, after volumes.State) plan.Effect {
		after.Fence = "m.2"
		return plan.Effect{Verb: plan.CarryVolume, Side: plan.SourceSide, Template: "data", Volume: volumes.Action{
			Verb: verb, AtGiver: true, Volume: "pv", Ref: volumes.Ref{Namespace: "shop", Name: "data"}, UID: "u", ResourceVersion: "7", Fence: "m.2", After: after,
		}}
	}
	note := volumes.Note{Policy: "Delete", By: "m"}
	budget := `"metadata":{"annotations":{"migration.sliceshift.io/author-budget":`
	for name, tc := range map[string]struct {
		effect plan.Effect
		want   string
	}{
		"fence":          {judged(plan.Effect{Verb: plan.WriteFence, After: plan.SetState{Fence: "m.2"}}), `patch web {"metadata":{"annotations":{"migration.sliceshift.io/fence":"m.2"},` + precondition + `}}`},
		"release":        {judged(plan.Effect{Verb: plan.ReleaseFence, Before: plan.SetState{Fence: "m.2"}}), `patch web {"metadata":{"annotations":{"migration.sliceshift.io/fence":null,"migration.sliceshift.io/template":null},` + precondition + `}}`},
		"share":          {judged(plan.Effect{Verb: plan.SetShare, After: plan.SetState{Shared: true, Share: 1}}), `patch web {"metadata":{"annotations":{"apps.sliceshift.io/max-unavailable":"1"},` + precondition + `}}`},
		"share lifted":   {judged(plan.Effect{Verb: plan.LiftShare, Before: plan.SetState{Shared: true}}), `patch web {"metadata":{"annotations":{"apps.sliceshift.io/max-unavailable":null},` + precondition + `}}`},
		"stop":           {judged(plan.Effect{Verb: plan.ScaleDown, After: plan.SetState{Start: 1, Replicas: 2}}), `patch web {"metadata":{` + precondition + `},"spec":{"ordinals":{"start":1},"replicas":2}}`},
		"start":          {judged(plan.Effect{Verb: plan.ScaleUp, After: plan.SetState{Start: 2, Replicas: 1}}), `patch web {"metadata":{` + precondition + `},"spec":{"ordinals":{"start":2},"replicas":1}}`},
		"budget":         {judged(plan.Effect{Verb: plan.SetBudget, Fence: "m.2", Form: pdb.Available(3), Author: pdb.Unavailable(1)}), `patch web {` + budget + `"maxUnavailable 1","migration.sliceshift.io/budget":"m.2 minAvailable 3"},` + precondition + `},"spec":{"maxUnavailable":null,"minAvailable":3}}`},
		"budget back":    {judged(plan.Effect{Verb: plan.RestoreBudget, Form: pdb.Unavailable(1)}), `patch web {` + budget + `null,"migration.sliceshift.io/budget":null},` + precondition + `},"spec":{"maxUnavailable":1,"minAvailable":null}}`},
		"secure":         {volume(volumes.Secure, volumes.State{Policy: "Retain", Note: note}), `patch pv {"metadata":{"annotations":{"migration.sliceshift.io/fence":"m.2","migration.sliceshift.io/original-reclaim-policy":"Delete m"},` + precondition + `},"spec":{"persistentVolumeReclaimPolicy":"Retain"}}`},
		"park":           {volume(volumes.Park, volumes.State{ClaimRef: volumes.Ref{Namespace: "shop", Name: "data_parked"}}), `patch pv {"metadata":{"annotations":{"migration.sliceshift.io/fence":"m.2","pv.kubernetes.io/bound-by-controller":null},` + precondition + `},"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"data_parked","namespace":"shop","resourceVersion":null,"uid":null}}}`},
		"point":          {volume(volumes.Point, volumes.State{Note: note, ClaimRef: volumes.Ref{Namespace: "shop", Name: "data", UID: "c"}}), `patch pv {"metadata":{"annotations":{"migration.sliceshift.io/fence":"m.2","migration.sliceshift.io/original-reclaim-policy":"Delete m","pv.kubernetes.io/bound-by-controller":null},` + precondition + `},"spec":{"claimRef":{"apiVersion":"v1","kind":"PersistentVolumeClaim","name":"data","namespace":"shop","resourceVersion":null,"uid":"c"}}}`},
		"mark":           {volume(volumes.MarkClaim, volumes.State{}), `patch data {"metadata":{"annotations":{"migration.sliceshift.io/fence":"m.2"},` + precondition + `}}`},
		"policy":         {plan.Effect{Verb: plan.RestorePolicy, Side: plan.SourceSide, Volume: volumes.Action{Verb: volumes.Restore, Volume: "pv", UID: "u", ResourceVersion: "7", Before: volumes.State{Policy: "Retain", Fence: "m.2", Note: note}, After: volumes.State{Policy: "Delete"}}}, `patch pv {"metadata":{"annotations":{"migration.sliceshift.io/fence":null,"migration.sliceshift.io/original-reclaim-policy":null},` + precondition + `},"spec":{"persistentVolumeReclaimPolicy":"Delete"}}`},
		"delete claim":   {judged(plan.Effect{Verb: plan.DeleteClaim}), "delete web uid u resourceVersion 7"},
		"delete volume":  {judged(plan.Effect{Verb: plan.DeleteVolume}), "delete web uid u resourceVersion 7"},
		"delete budget":  {judged(plan.Effect{Verb: plan.DeleteBudget}), "delete web uid u resourceVersion 7"},
		"delete the set": {judged(plan.Effect{Verb: plan.DeleteSet}), "delete web uid u resourceVersion 7"},
		"orphan":         {judged(plan.Effect{Verb: plan.OrphanSet, Propagation: metav1.DeletePropagationOrphan, Manifest: `{"apiVersion":"apps/v1","kind":"StatefulSet","metadata":{"name":"web"}}`}), "delete web uid u resourceVersion 7 Orphan"},
		"templates":      {judged(plan.Effect{Verb: plan.UpdateSet, Manifest: `{"spec":{"replicas":3,"volumeClaimTemplates":[{"metadata":{"name":"data"}}]}}`}), `patch web {"metadata":{` + precondition + `},"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"}}]}}`},
		"poke":           {judged(plan.Effect{Verb: plan.PokeSet, Poke: "c now"}), `patch web {"metadata":{"annotations":{"migration.sliceshift.io/poked-for":"c now"},` + precondition + `}}`},
		"ask for a size": {judged(plan.Effect{Verb: plan.ChangeClaim, Request: inplace.Request{Size: 2 << 30}}), `patch web {"metadata":{` + precondition + `},"spec":{"resources":{"requests":{"storage":"2Gi"}}}}`},
		"ask for both":   {judged(plan.Effect{Verb: plan.ChangeClaim, Request: inplace.Request{Size: 5 << 20, Attributes: "gold"}}), `patch web {"metadata":{` + precondition + `},"spec":{"resources":{"requests":{"storage":"5Mi"}},"volumeAttributesClassName":"gold"}}`},
		"end a claim":    {judged(plan.Effect{Verb: plan.EndClaim}), "delete web uid u resourceVersion 7"},
		"not its claims": {judged(plan.Effect{Verb: plan.DeleteSet, Propagation: metav1.DeletePropagationOrphan}), "delete web uid u resourceVersion 7 Orphan"},
	} {
		t.Run(name, func(t *testing.T) {
			there, elsewhere := &wire{}, &wire{}
			e := &Executor{Pair: &endpoint.Pair{
				Source:      endpoint.Endpoint{Side: plan.SourceSide, Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: there.client()},
				Destination: endpoint.Endpoint{Side: plan.DestinationSide, Namespace: "shop", Set: "web", APIVersion: workload.NativeVersion, Live: elsewhere.client()},
			}}
			tc.effect.Carriage.Giver = plan.SourceSide
			if tc.effect.Volume.Verb == volumes.Point || tc.effect.Volume.Verb == volumes.MarkClaim {
				tc.effect.Carriage.Giver, tc.effect.Volume.AtGiver = plan.DestinationSide, false // the source takes
			}
			if _, err := e.Do(t.Context(), tc.effect); err != nil {
				t.Fatal(err)
			}
			if len(there.sent) != 1 || there.sent[0] != tc.want || len(elsewhere.sent) > 0 {
				t.Errorf("sent\n%q\nwant\n%q\nand to the other side nothing but %q", there.sent, tc.want, elsewhere.sent)
			}
		})
	}
}
