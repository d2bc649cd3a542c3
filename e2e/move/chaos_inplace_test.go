package move

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/volumes"
)

// standardClass is the class of the volumes before a chaos run in place.
const standardClass = "standard"

// ofStandard deploys an application whose claim templates name their class.
func ofStandard(v *harness.Move) {
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		for i := range set.Spec.VolumeClaimTemplates {
			set.Spec.VolumeClaimTemplates[i].Spec.StorageClassName = new(standardClass)
		}
	}
}

// replacedInPlace draws the change of a chaos run in place. Some sets have a second claim template, which does not change. A volume
// of the same size fits the former claim templates, too, so that another writer may restore them at any time.
func replacedInPlace(random *rand.Rand) harness.Setting {
	return func(v *harness.Move) {
		const mostReplaced = 3
		v.App.Claims, v.App.Replicas, v.Limit = []string{"data"}, min(v.App.Replicas, mostReplaced), 5*time.Minute
		if random.IntN(3) == 0 {
			v.App.Claims = []string{"data", "log"}
		}
		var size *resource.Quantity
		if random.IntN(2) == 0 {
			size = new(resource.MustParse([]string{"512Mi", "2Gi"}[random.IntN(2)]))
		}
		byCopy(v)
		ofStandard(v)
		harness.InPlace(size)(v)
		harness.WithSpec(func(s *api.MigrationSpec) { s.Handoff.MaxInFlight = nil })(v) // in place, one ordinal changes at a time
	}
}

// inPlace reports whether the run replaces volumes in place.
func (r *chaosRun) inPlace() bool { return r.Migration.Spec.Storage != nil }

// asked returns the class and the size that the claim template of the replaced volumes gets.
func (r *chaosRun) asked() (class string, size resource.Quantity) {
	asked := r.Migration.Spec.Volumes[0]
	if size = oldSize; asked.Size != nil {
		size = *asked.Size
	}
	return *asked.StorageClassName, size
}

// inPlaceFaults returns the faults of a change in place. Other writers of the set are not among them if a volume may not fit
// the claim templates that they write: in the moment of its release they would let an empty one be provisioned.
func (r *chaosRun) inPlaceFaults() []fault {
	all := []fault{{"a quota without room", r.quota}}
	if r.Migration.Spec.Volumes[0].Size == nil {
		all = append(all,
			fault{"the set is created again", func(time.Duration) error { return r.deploy(r.set(r.wants())) }},
			fault{"the former templates are restored", func(d time.Duration) error {
				err := r.deploy(r.App.StatefulSet())
				harness.Sleep(r.Ctx, d)
				return err // tend writes the present ones
			}},
		)
	}
	return all
}

// quota lets the namespace have no more claims than it has, for a while.
func (r *chaosRun) quota(d time.Duration) error {
	quotas := r.Source.CoreV1().ResourceQuotas(r.App.Namespace)
	err := r.insist(func(ctx context.Context) error {
		claims, err := r.Source.CoreV1().PersistentVolumeClaims(r.App.Namespace).List(ctx, metav1.ListOptions{})
		if err != nil {
			return err
		}
		hard := corev1.ResourceList{corev1.ResourcePersistentVolumeClaims: *resource.NewQuantity(int64(len(claims.Items)), resource.DecimalSI)}
		_, err = quotas.Create(ctx, &corev1.ResourceQuota{ObjectMeta: metav1.ObjectMeta{Name: "full"}, Spec: corev1.ResourceQuotaSpec{Hard: hard}}, metav1.CreateOptions{})
		return ignoreExisting(err)
	})
	if err != nil {
		return err
	}
	harness.Sleep(r.Ctx, d)
	return r.insist(func(ctx context.Context) error { return quotas.Delete(ctx, "full", metav1.DeleteOptions{}) })
}

func ignoreExisting(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	return err
}

// wants reports whether the migration has recorded the new claim templates as those of the set.
func (r *chaosRun) wants() bool {
	m := &api.Migration{}
	err := r.insist(func(ctx context.Context) error { return r.client.Get(ctx, client.ObjectKeyFromObject(r.Migration), m) })
	if err != nil || m.Status.Storage == nil {
		return false
	}
	class, _ := r.asked()
	return slices.ContainsFunc(m.Status.Storage.Written, func(t api.StorageTemplate) bool { return t.Class == class })
}

// set returns the set as its author would write it, with the former claim templates or the new ones.
func (r *chaosRun) set(wanted bool) *appsv1.StatefulSet {
	set := r.App.StatefulSet()
	if class, size := r.asked(); wanted {
		spec := &set.Spec.VolumeClaimTemplates[0].Spec
		spec.StorageClassName, spec.Resources.Requests = &class, corev1.ResourceList{corev1.ResourceStorage: size}
	}
	return set
}

// deploy deletes the set, and creates another one as another writer does. Its pods and claims stay. If the migration creates
// the set first, that one stays.
func (r *chaosRun) deploy(set *appsv1.StatefulSet) error {
	sets := r.Source.AppsV1().StatefulSets(r.App.Namespace)
	former := &appsv1.StatefulSet{}
	err := r.insist(func(ctx context.Context) (err error) {
		former, err = sets.Get(ctx, set.Name, metav1.GetOptions{})
		return err
	})
	if err != nil {
		return err
	}
	err = r.insist(func(ctx context.Context) error {
		err := sets.Delete(ctx, set.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan), Preconditions: metav1.NewUIDPreconditions(string(former.UID))})
		if apierrors.IsConflict(err) {
			return nil // it was recreated meanwhile
		}
		return err
	})
	if err != nil {
		return err
	}
	return r.insist(func(ctx context.Context) error {
		_, err := sets.Create(ctx, set, metav1.CreateOptions{})
		if !apierrors.IsAlreadyExists(err) {
			return err
		}
		now, err := sets.Get(ctx, set.Name, metav1.GetOptions{})
		if err == nil && now.UID == former.UID {
			return fmt.Errorf("StatefulSet %s is being deleted", set.Name)
		}
		return err
	})
}

// tend does what a person does about a change in place that has stalled: it follows the remedy. It reports whether the
// migration is completed.
func (r *chaosRun) tend(ctx context.Context) (completed bool, err error) {
	m := &api.Migration{}
	if err := r.client.Get(ctx, client.ObjectKeyFromObject(r.Migration), m); err != nil {
		return false, client.IgnoreNotFound(err)
	}
	if meta.IsStatusConditionTrue(m.Status.Conditions, api.ConditionCompleted) {
		return true, nil
	}
	stalled := meta.FindStatusCondition(m.Status.Conditions, api.ConditionStalled)
	if stalled == nil || stalled.Status != metav1.ConditionTrue {
		return false, nil
	}
	switch stalled.Reason {
	case api.ReasonCopyTurnedBack:
		return false, r.resume()
	case api.ReasonTemplatesReverted, api.ReasonSourceMissing, api.ReasonSourceBeingDeleted:
		return false, r.deploy(r.set(r.wants()))
	case volumes.ReasonForeignVolume:
		r.T.Fatalf("an ordinal is on another volume: %s", stalled.Message)
	}
	return false, nil
}

// resume sets the mode to Pause, and back once the migration has seen it.
func (r *chaosRun) resume() error {
	if err := r.setMode(api.ModePause); err != nil {
		return err
	}
	m := &api.Migration{}
	err := r.insist(func(ctx context.Context) error {
		if err := r.client.Get(ctx, client.ObjectKeyFromObject(r.Migration), m); err != nil {
			return err
		}
		if st := m.Status.Storage; st != nil && st.Back != "" {
			return errors.New("the pause is not observed")
		}
		return nil
	})
	if err != nil {
		return err
	}
	return r.setMode(r.mode)
}

// endInPlace waits for the end of a change in place and checks the result: the claims of all ordinals, their content, and the
// lines that their pods have written.
func (r *chaosRun) endInPlace(app *scribe) {
	r.T.Helper()
	r.Eventually("condition Completed", func(ctx context.Context) (bool, error) {
		completed, err := r.tend(ctx)
		if err != nil {
			r.T.Log(err) // an API server may still be away
		}
		return completed, nil
	})
	condition := r.Await(r.client, api.ConditionCompleted, metav1.ConditionTrue)
	app.end()
	r.ExpectSlice(r.Here(), r.App.Start, r.App.Replicas)
	r.ExpectBudget(r.Here())
	if class, size := r.asked(); condition.Reason == api.ReasonMoved {
		r.expectClaims(class, size)
	} else {
		r.expectClaims(standardClass, oldSize)
	}
	r.expectNoMovers()
	verdict := r.Audit()
	app.expectLines()
	r.T.Logf("%s after %d faults, %d lines written: %s", condition.Reason, r.faulted, app.total(), verdict)
	r.tally.Ran(verdict.ContentsCompared)
}
