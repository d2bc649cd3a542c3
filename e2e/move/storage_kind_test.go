package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	slicesapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

const leavesClaims = `{"spec":{"volumeClaimUpdateStrategy":{"type":"OnDelete"}}}`

// ofOurKind deploys an application whose set is of our own kind, and describes the change of its storage.
func (d *disks) ofOurKind(t *testing.T, replicas int32, strategy string) *storage {
	t.Helper()
	v := d.inPlace(t, replicas, func(v *storage) { v.Migration.Spec.Source.APIVersion = slice })
	v.adopted()
	if strategy != "" {
		v.Must(v.patchKind(v.Here(), slice, strategy))
	}
	return v
}

// behind waits until the condition ClaimsBehind of the set has a status, and returns its message.
func (v *storage) behind(status metav1.ConditionStatus) (message string) {
	v.T.Helper()
	v.Eventually("ClaimsBehind is "+string(status), func(ctx context.Context) (bool, error) {
		c, err := harness.Client(v.From)
		if err != nil {
			return false, err
		}
		set := &slicesapi.StatefulSet{}
		if err := c.Get(ctx, client.ObjectKey{Namespace: v.App.Namespace, Name: v.App.Name}, set); err != nil {
			return false, err
		}
		found := meta.FindStatusCondition(set.Status.Conditions, slicesapi.ConditionClaimsBehind)
		if found == nil || found.Status != status || set.Status.ObservedGeneration != set.Generation {
			return false, nil
		}
		message = found.Message
		return true, nil
	})
	return message
}

// never ends a run in which a write of this verb happens.
func never(verb plan.Verb) harness.Report {
	return harness.OnVerb(verb, func() error { return fmt.Errorf("%s was written", verb) })
}

// TestStorageOfOurKind: the claim templates of our own kind change by an update, and its claims are replaced as those of
// apps/v1.
func TestStorageOfOurKind(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true)
	ctx, stop := context.WithCancel(context.WithoutCancel(t.Context()))
	t.Cleanup(stop)
	if err := fixture.RunSlices(ctx, d.clusters[0].RESTConfig()); err != nil {
		t.Fatal(err)
	}
	t.Run("class and a smaller size", func(t *testing.T) {
		v := d.ofOurKind(t, 3, leavesClaims)
		v.behind(metav1.ConditionFalse)
		uid, before := v.set().UID, v.pods()
		data, w := v.fill(), v.watch()
		folder := v.mounted(v.Here(), d.sites[0])[2]
		writes := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
			return errors.Join(late(folder), late(data[2]))
		})
		updated := false
		updates := harness.OnVerb(plan.UpdateSet, func() error {
			updated = true
			if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
				return fmt.Errorf("the pods are %v, and were %v", after, before)
			}
			return nil
		})
		v.Run(never(plan.OrphanSet), updates, writes)
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
		v.expectNoMovers()
		v.behind(metav1.ConditionFalse)
		v.expectKind(v.Here(), slice, 3)
		if after := v.set().UID; !updated || after != uid {
			t.Errorf("updated: %t; the set is %s, and was %s", updated, after, uid)
		}
	})
	t.Run("back again", func(t *testing.T) {
		v := d.ofOurKind(t, 3, leavesClaims)
		data, w, mover := v.fill(), v.watch(), v.Mover()
		v.Drive(mover, never(plan.OrphanSet), harness.Arrival(1)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
		v.expectClaims(diskDriver, oldSize)
		v.expectContent(data)
		w.agree()
		v.expectNoMovers()
		v.behind(metav1.ConditionFalse)
	})
	t.Run("templates that their author has changed", func(t *testing.T) {
		v := d.ofOurKind(t, 2, leavesClaims)
		data, before := v.fill(), v.pods()
		v.Must(v.retemplate(fastClass, newSize.String()))
		message := v.behind(metav1.ConditionTrue)
		if !strings.Contains(message, "claims of 2 of 2 ordinals differ") || !strings.Contains(message, "kubectl migrate storage web -n "+v.App.Namespace+" --api-version "+slice+" --volume data=method=copy,image=IMAGE") {
			t.Errorf("the condition: %s", message)
		}
		if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the pods are %v, and were %v", after, before)
		}
		if text := v.exits(v.inPlaceCLI("storage", "--api-version", slice, "--volume", "data=method=copy,image=mover"), 0); !strings.Contains(text, "2 replicas of 2") || strings.Contains(text, "write the new claim templates") {
			t.Errorf("the plan:\n%s", text)
		}
		v.Migration.Spec.Volumes[0].StorageClassName, v.Migration.Spec.Volumes[0].Size = nil, nil
		w := v.watch()
		v.Run(never(plan.OrphanSet), never(plan.UpdateSet))
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
		v.behind(metav1.ConditionFalse)
	})
	t.Run("another writer restores the former templates", func(t *testing.T) {
		v := d.ofOurKind(t, 2, leavesClaims)
		data := v.fill()
		reverts := harness.Arrival(1)(func() error { return v.retemplate(diskDriver, oldSize.String()) })
		corrects := harness.StalledWith(api.ReasonTemplatesReverted)(func() error { return v.retemplate(fastClass, newSize.String()) })
		v.Run(reverts, corrects)
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
	})
	for name, strategy := range map[string]string{"no strategy": "", "claims that grow": `{"spec":{"volumeClaimUpdateStrategy":{"type":"OnPodRollingUpdate"}}}`} {
		t.Run("refused: "+name, func(t *testing.T) {
			v := d.ofOurKind(t, 1, strategy)
			v.refused(api.ReasonKindUnsupported, "volumeClaimUpdateStrategy", leavesClaims)
		})
	}
}

// retemplate writes the class and the size of the claim template.
func (v *storage) retemplate(class, size string) error {
	return v.patchKind(v.Here(), slice, fmt.Sprintf(`{"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},"spec":{"accessModes":["ReadWriteOnce"],"storageClassName":%q,"resources":{"requests":{"storage":%q}}}}]}}`, class, size))
}

// refused checks that a run stalls with a reason, its words and a command, and changes nothing.
func (v *storage) refused(reason, words, remedy string) {
	v.T.Helper()
	errRefused := errors.New("refused")
	before, generation := v.pods(), v.set().Generation
	err := harness.Follow(v.Ctx, v.T, v.Mover(), func(_ *api.Migration, outcome engine.Outcome) error {
		if hold := outcome.Decision.Hold; hold != nil && hold.Stalled && hold.Reason == reason && strings.Contains(hold.Message, words) && strings.Contains(hold.Remedy, remedy) {
			return errRefused
		}
		return nil
	})
	if !errors.Is(err, errRefused) {
		v.T.Fatalf("it ended with %v", err)
	}
	if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) || v.set().Generation != generation {
		v.T.Errorf("the pods are %v, and were %v, or the set was changed", after, before)
	}
}

const rabbit = `{"apiVersion":"rabbitmq.com/v1beta1","kind":"RabbitmqCluster","metadata":{"name":"main"},"spec":{"persistence":{"storage":"1Gi"}}}`

// owned lets a resource own the set.
func (v *storage) owned(apiVersion, kind string, uid types.UID) {
	v.T.Helper()
	v.Must(v.patchKind(v.Here(), native, fmt.Sprintf(`{"metadata":{"ownerReferences":[{"apiVersion":%q,"kind":%q,"name":"main","uid":%q,"controller":true}]}}`, apiVersion, kind, uid)))
}

// TestStorageUnderOperators: the storage of an operator's set changes only if the operator accepts it after a pause. The
// migration pauses it, and resumes it when its user confirms that its own field has the new storage.
func TestStorageUnderOperators(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true)
	if err := define(definitionOf("rabbitmq.com", "v1beta1", "rabbitmqclusters", "RabbitmqCluster"))(d.clusters[0]); err != nil {
		t.Fatal(err)
	}
	deploy := func(t *testing.T, replicas int32) (*storage, client.Client, *unstructured.Unstructured) {
		t.Helper()
		v := d.inPlace(t, replicas)
		c, err := harness.Client(v.From)
		v.Must(err)
		operator := &unstructured.Unstructured{}
		v.Must(operator.UnmarshalJSON([]byte(rabbit)))
		operator.SetNamespace(v.App.Namespace)
		list := &unstructured.UnstructuredList{}
		list.SetGroupVersionKind(operator.GroupVersionKind())
		list.SetKind("RabbitmqClusterList")
		v.Must(fixture.AwaitServed(v.Ctx, c, list))
		v.Must(c.Create(v.Ctx, operator))
		v.owned("rabbitmq.com/v1beta1", "RabbitmqCluster", operator.GetUID())
		return v, c, operator
	}
	t.Run("it has its own way", func(t *testing.T) {
		v := d.inPlace(t, 1)
		v.owned("elasticsearch.k8s.elastic.co/v1", "Elasticsearch", "u")
		v.refused(api.ReasonOwnedByOperator, "is controlled by Elasticsearch main", "add a node set")
	})
	t.Run("it is not known", func(t *testing.T) {
		v := d.inPlace(t, 1)
		v.owned("db.example.com/v1", "Database", "u")
		v.refused(api.ReasonOwnedByOperator, "is controlled by Database main", "change the storage in Database main")
	})
	t.Run("it is not paused", func(t *testing.T) {
		v, _, _ := deploy(t, 1)
		v.refused(api.ReasonOwnedByOperator, "RabbitmqCluster main, which is not paused", "patch rabbitmqcluster.rabbitmq.com -n "+v.App.Namespace+" main")
	})
	t.Run("the migration pauses it", func(t *testing.T) {
		v, c, operator := deploy(t, 2)
		v.Migration.Spec.Writers.Pause = true
		data, w, mover := v.fill(), v.watch(), v.Mover()
		paused := func() (string, error) {
			err := c.Get(v.Ctx, client.ObjectKeyFromObject(operator), operator)
			return operator.GetLabels()["rabbitmq.com/pauseReconciliation"], err
		}
		expect := func(want string) func() error {
			return func() error {
				is, err := paused()
				if err == nil && is != want {
					err = fmt.Errorf("the pause is %q, want %q", is, want)
				}
				return err
			}
		}
		confirmed := false
		v.Drive(mover, harness.OnVerb(plan.OrphanSet, expect("true")), harness.OnVerb(plan.EvictPod, expect("true")), harness.StalledWith(api.ReasonWriterWouldRefill)(func() error {
			confirmed = true
			return errors.Join(expect("true")(), rewrite(v.Ctx, mover, func(m *api.Migration) { m.Spec.Writers.Pause = false }))
		}))
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
		v.Must(expect("")())
		if owner := metav1.GetControllerOf(v.set()); !confirmed || owner == nil || owner.UID != operator.GetUID() {
			t.Errorf("confirmed: %t, owner %+v", confirmed, owner)
		}
	})
}
