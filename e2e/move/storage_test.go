package move

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// fastClass is the class that the tests change to. Its volumes are of the same driver.
const fastClass = "fast"

// oldSize and newSize are the requests of claims before and after.
var oldSize, newSize = resource.MustParse("1Gi"), resource.MustParse("512Mi")

// storage is an application whose volumes are replaced under its own name, on disks of one cluster.
type storage struct {
	*move
	disks *disks
}

// disksOfOne starts a cluster with disks of two classes, which are attached or only mounted, and a player for the movers.
func disksOfOne(t *testing.T, attach bool, more ...sidecar.Name) *disks {
	t.Helper()
	d := startDisksIn(t, []string{"storage"}, attach, more...)
	client := kubernetes.NewForConfigOrDie(d.clusters[0].RESTConfig())
	_, err := client.StorageV1().StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: fastClass}, Provisioner: diskDriver, VolumeBindingMode: new(storagev1.VolumeBindingWaitForFirstConsumer),
		ReclaimPolicy: new(corev1.PersistentVolumeReclaimDelete), Parameters: map[string]string{"csi.storage.k8s.io/fstype": "ext4"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	d.play(t)
	return d
}

// inPlace deploys an application and describes the change of its storage.
func (d *disks) inPlace(t *testing.T, replicas int32, changes ...func(*storage)) *storage {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 4*time.Minute)
	t.Cleanup(cancel)
	app := harness.Usual(replicas)
	app.Namespace, app.Name, app.Annotations = "t-"+rand.String(8), "web", kubelet.Annotations(diskDriver)
	app.Adapt = func(set *appsv1.StatefulSet) {
		set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(diskDriver)
	}
	m := fixture.NewMigration(app.Namespace, app.Name)
	m.Spec.Storage = &api.StorageSpec{}
	m.Spec.Volumes = []api.VolumeSpec{{
		ClaimTemplate: "data", Method: api.MethodCopy, StorageClassName: new(fastClass), Size: &newSize, Copy: api.CopySpec{Image: "mover", Devices: true},
	}}
	at := d.clusters[0]
	v := &storage{&move{Move: &harness.Move{T: t, Ctx: ctx, App: app, From: at, To: at, ToNamespace: app.Namespace, ToName: app.Name, Budget: 1, Migration: m}}, d}
	v.Source = kubernetes.NewForConfigOrDie(at.RESTConfig())
	v.Destination = v.Source
	for _, change := range changes {
		change(v)
	}
	v.Must(v.App.Deploy(ctx, v.Source))
	return v
}

// fill fills the volumes of the application, and returns copies of their content.
func (v *storage) fill() []string { return v.fillAll(v.mounted(v.Here(), v.disks.sites[0])) }

// expectContent checks that each ordinal still has its content.
func (v *storage) expectContent(want []string) {
	v.T.Helper()
	v.same(want, v.mounted(v.Here(), v.disks.sites[0]))
}

// pods returns the UIDs and revisions of the pods.
func (v *storage) pods() map[string]string {
	v.T.Helper()
	list, err := v.Source.CoreV1().Pods(v.App.Namespace).List(v.Ctx, metav1.ListOptions{LabelSelector: "app=" + v.App.Name})
	v.Must(err)
	found := map[string]string{}
	for i := range list.Items {
		found[list.Items[i].Name] = string(list.Items[i].UID) + " " + list.Items[i].Labels[appsv1.StatefulSetRevisionLabel]
	}
	return found
}

// expectClaims checks the class and the size of the claims of all ordinals, and that the set has such templates.
func (v *move) expectClaims(class string, size resource.Quantity) {
	v.T.Helper()
	set := v.set()
	specs := []corev1.PersistentVolumeClaimSpec{set.Spec.VolumeClaimTemplates[0].Spec}
	for ordinal := range v.App.Replicas {
		claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, fmt.Sprintf("data-%s-%d", v.App.Name, ordinal), metav1.GetOptions{})
		v.Must(err)
		volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
		v.Must(err)
		if len(claim.Finalizers) != 1 || claim.Status.Phase != corev1.ClaimBound || volume.Spec.StorageClassName != class || volume.Spec.PersistentVolumeReclaimPolicy != corev1.PersistentVolumeReclaimDelete {
			v.T.Errorf("claim %s: %v, %s, on volume %s of class %s with policy %s", claim.Name, claim.Finalizers, claim.Status.Phase, volume.Name, volume.Spec.StorageClassName, volume.Spec.PersistentVolumeReclaimPolicy)
		}
		specs = append(specs, claim.Spec)
	}
	for _, spec := range specs {
		if has := spec.Resources.Requests[corev1.ResourceStorage]; *spec.StorageClassName != class || has.Cmp(size) != 0 {
			v.T.Errorf("class %s and size %s, want %s and %s", *spec.StorageClassName, has.String(), class, size.String())
		}
	}
	for _, key := range []string{api.FenceAnnotationKey, api.PokeAnnotationKey} {
		if left := set.Annotations[key]; left != "" {
			v.T.Errorf("the set still has %s: %s", key, left)
		}
	}
}

// set returns the set as apps/v1, whichever kind it is of.
func (v *move) set() *appsv1.StatefulSet {
	v.T.Helper()
	c, object := v.kindClient(v.Here(), cmp.Or(v.Migration.Spec.Source.APIVersion, native))
	v.Must(c.Get(v.Ctx, client.ObjectKeyFromObject(object), object))
	set := &appsv1.StatefulSet{}
	v.Must(runtime.DefaultUnstructuredConverter.FromUnstructured(object.Object, set))
	return set
}

// witness follows the pods, claims and volumes of a test.
type witness struct {
	*storage
	first map[types.UID]bool
	stop  context.CancelFunc
	done  chan struct{}
	// claims are the UIDs of claims of ordinals that were created since; alive are the pods that exist, by name.
	claims map[types.UID]string
	alive  map[string]types.UID
	faults []string
}

// watch starts a witness.
func (v *storage) watch() *witness {
	v.T.Helper()
	ctx, stop := context.WithCancel(v.Ctx)
	w := &witness{storage: v, first: map[types.UID]bool{}, stop: stop, done: make(chan struct{}), claims: map[types.UID]string{}, alive: map[string]types.UID{}}
	claims, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).List(ctx, metav1.ListOptions{})
	v.Must(err)
	for i := range claims.Items {
		w.first[claims.Items[i].UID] = true
	}
	pods, err := v.Source.CoreV1().Pods(v.App.Namespace).Watch(ctx, metav1.ListOptions{LabelSelector: "app=" + v.App.Name})
	v.Must(err)
	changes, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Watch(ctx, metav1.ListOptions{})
	v.Must(err)
	go func() {
		defer pods.Stop()
		defer changes.Stop()
		for {
			select {
			case event, open := <-pods.ResultChan():
				if pod, is := event.Object.(*corev1.Pod); open && is {
					w.pod(string(event.Type), pod)
				}
			case event, open := <-changes.ResultChan():
				if claim, is := event.Object.(*corev1.PersistentVolumeClaim); open && is && strings.HasPrefix(claim.Name, "data-"+v.App.Name+"-") && !w.first[claim.UID] {
					w.claims[claim.UID] = claim.Name
				}
			case <-ctx.Done():
				close(w.done)
				return
			}
		}
	}()
	return w
}

// pod notes a pod. A second one of an ordinal may not exist, and at most one pod of all may be missing.
func (w *witness) pod(event string, pod *corev1.Pod) {
	switch known := w.alive[pod.Name]; {
	case event == "DELETED" && known == pod.UID:
		delete(w.alive, pod.Name)
		if missing := int(w.App.Replicas) - len(w.alive); missing > 1 {
			w.faults = append(w.faults, fmt.Sprintf("%d pods are missing", missing))
		}
	case event == "DELETED":
	case known != "" && known != pod.UID:
		w.faults = append(w.faults, fmt.Sprintf("pod %s exists twice: %s and %s", pod.Name, known, pod.UID))
	default:
		w.alive[pod.Name] = pod.UID
	}
}

// agree ends the witness. No volume was provisioned for a claim of an ordinal: each got the one that was filled for it.
func (w *witness) agree() {
	w.T.Helper()
	w.stop()
	<-w.done
	for _, fault := range w.faults {
		w.T.Error(fault)
	}
	for uid, name := range w.claims {
		_, err := w.Source.CoreV1().PersistentVolumes().Get(context.WithoutCancel(w.Ctx), "pvc-"+string(uid), metav1.GetOptions{})
		if !apierrors.IsNotFound(err) {
			w.T.Errorf("an empty volume was provisioned for claim %s: %v", name, err)
		}
	}
	if len(w.claims) == 0 {
		w.T.Error("no claim was created")
	}
}

// recreated checks that the pods of a set keep running through its recreation.
func (v *storage) recreated() harness.Report {
	before := v.pods()
	return harness.OnVerb(plan.RecreateSet, func() error {
		if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
			return fmt.Errorf("the pods are %v, and were %v", after, before)
		}
		return nil
	})
}

// late writes a file as the application does while its volume is copied.
func late(folder string) error {
	at, path := time.Unix(1_800_000_000, 0), filepath.Join(folder, "late")
	return errors.Join(os.WriteFile(path, []byte("written while it was copied"), 0o600), os.Chtimes(path, at, at), os.Chtimes(folder, at, at))
}

// TestStorageInPlace: the class and the size of the volumes of a running set are changed under its own name.
func TestStorageInPlace(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true)
	t.Run("class and a smaller size", func(t *testing.T) {
		v := d.inPlace(t, 3)
		data, w := v.fill(), v.watch()
		folder := v.mounted(v.Here(), d.sites[0])[2]
		writes := harness.CopyStep(volumes.DeleteMover, volumes.RoleWarm)(func() error {
			return errors.Join(late(folder), late(data[2]))
		})
		v.Run(v.recreated(), writes)
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
		v.expectNoMovers()
		if m := v.recorded(); m.Status.Progress != "3/3" || len(m.Status.History.Handoffs) != 3 {
			t.Errorf("progress %s, %d handoffs", m.Status.Progress, len(m.Status.History.Handoffs))
		}
	})
	t.Run("back again", func(t *testing.T) {
		v := d.inPlace(t, 3)
		data, w, mover := v.fill(), v.watch(), v.Mover()
		v.Drive(mover, harness.Arrival(1)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
		v.expectClaims(diskDriver, oldSize)
		v.expectContent(data)
		w.agree()
		v.expectNoMovers()
	})
	t.Run("turned back while it is copied", func(t *testing.T) {
		v := d.inPlace(t, 2)
		data, mover := v.fill(), v.Mover()
		v.Drive(mover, harness.CopyStep(volumes.TellMover, volumes.RoleSender)(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
		v.expectClaims(diskDriver, oldSize)
		v.expectContent(data)
		v.expectNoMovers()
	})
	t.Run("processes that are killed after some writes", func(t *testing.T) {
		v := d.inPlace(t, 1)
		data, w := v.fill(), v.watch()
		v.killed()
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
		v.expectNoMovers()
	})
	t.Run("the set is deleted in between", func(t *testing.T) {
		v := d.inPlace(t, 2)
		data, w := v.fill(), v.watch()
		var set *appsv1.StatefulSet
		gone := harness.OnVerb(plan.EvictPod, func() (err error) {
			set, err = v.orphan()
			return err
		})
		back := harness.StalledWith(api.ReasonSourceMissing)(func() error { return v.create(set) })
		v.Run(gone, back)
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		w.agree()
	})
	t.Run("another writer restores the former templates", func(t *testing.T) {
		v := d.inPlace(t, 2)
		data := v.fill()
		var set *appsv1.StatefulSet
		reverts := harness.Arrival(1)(func() (err error) {
			if set, err = v.orphan(); err != nil {
				return err
			}
			former := set.DeepCopy()
			former.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = new(diskDriver)
			former.Spec.VolumeClaimTemplates[0].Spec.Resources.Requests[corev1.ResourceStorage] = oldSize
			return v.create(former)
		})
		corrects := harness.StalledWith(api.ReasonTemplatesReverted)(func() error {
			if _, err := v.orphan(); err != nil {
				return err
			}
			return v.create(set)
		})
		v.Run(reverts, corrects)
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
	})
	t.Run("the default class changes in between", func(t *testing.T) {
		v := d.inPlace(t, 2, (*storage).ofDefaultClass)
		data := v.fill()
		v.Run(harness.Arrival(1)(func() error { return errors.Join(v.standard(diskDriver, false), v.standard(fastClass, true)) }))
		for ordinal := range v.App.Replicas {
			claim := v.claim("data", ordinal)
			volume, err := v.Source.CoreV1().PersistentVolumes().Get(v.Ctx, claim.Spec.VolumeName, metav1.GetOptions{})
			v.Must(err)
			if has := claim.Spec.Resources.Requests[corev1.ResourceStorage]; volume.Spec.StorageClassName != diskDriver || has.Cmp(newSize) != 0 {
				t.Errorf("claim %s has size %s, on a volume of class %s", claim.Name, has.String(), volume.Spec.StorageClassName)
			}
		}
		v.expectContent(data)
		if m := v.recorded(); len(m.Status.History.Handoffs) != 2 || m.Status.Baseline.DefaultStorageClass != diskDriver {
			t.Errorf("%d handoffs, with the default class %q", len(m.Status.History.Handoffs), m.Status.Baseline.DefaultStorageClass)
		}
	})
}

// ofDefaultClass lets the claim template and the change name no class, and the class of the disks be the default.
func (v *storage) ofDefaultClass() {
	v.T.Helper()
	v.App.Adapt = func(set *appsv1.StatefulSet) { set.Spec.VolumeClaimTemplates[0].Spec.StorageClassName = nil }
	v.Migration.Spec.Volumes[0].StorageClassName = nil
	list, err := v.Source.StorageV1().StorageClasses().List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for _, class := range list.Items {
		v.Must(v.standard(class.Name, class.Name == diskDriver))
	}
}

// standard lets a class be the default one, or not.
func (v *storage) standard(class string, is bool) error {
	patch := fmt.Appendf(nil, `{"metadata":{"annotations":{"storageclass.kubernetes.io/is-default-class":"%t"}}}`, is)
	_, err := v.Source.StorageV1().StorageClasses().Patch(v.Ctx, class, types.MergePatchType, patch, metav1.PatchOptions{})
	return err
}

// recorded returns the record of the migration.
func (v *move) recorded() *api.Migration {
	v.T.Helper()
	mover, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
	v.Must(err)
	m, err := mover.Store.Load(v.Ctx)
	v.Must(err)
	return m
}

// errKilled ends a run as a crash does.
var errKilled = errors.New("killed")

// killed runs the migration in processes that each end after some writes, of which the first renew the fences.
func (v *storage) killed() {
	v.T.Helper()
	v.Mover()
	for n := range 300 {
		left := 1 + n%9
		mover, err := fixture.Rejoin(v.From.RESTConfig(), v.To.RESTConfig(), v.Migration)
		v.Must(err)
		err = harness.Follow(v.Ctx, v.T, mover, func(_ *api.Migration, outcome engine.Outcome) error {
			if outcome.Wrote && !outcome.Decision.Effect.OnlyFences() {
				left--
			}
			if left == 0 {
				return errKilled
			}
			return nil
		})
		if err == nil {
			return
		}
		if !errors.Is(err, errKilled) {
			v.T.Fatal(err)
		}
	}
	v.T.Fatal("it does not end")
}

// orphan deletes the set as kubectl delete --cascade=orphan does, and returns it as it can be created again.
func (v *move) orphan() (*appsv1.StatefulSet, error) {
	sets := v.Source.AppsV1().StatefulSets(v.App.Namespace)
	set, err := sets.Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	if err != nil {
		return nil, err
	}
	if err := sets.Delete(v.Ctx, v.App.Name, metav1.DeleteOptions{PropagationPolicy: new(metav1.DeletePropagationOrphan)}); err != nil {
		return nil, err
	}
	for {
		if _, err := sets.Get(v.Ctx, v.App.Name, metav1.GetOptions{}); apierrors.IsNotFound(err) {
			break
		} else if err != nil {
			return nil, err
		}
	}
	return set, nil
}

// create creates a set that was deleted.
func (v *move) create(set *appsv1.StatefulSet) error {
	set = set.DeepCopy()
	set.ObjectMeta = metav1.ObjectMeta{Namespace: set.Namespace, Name: set.Name, Labels: set.Labels}
	_, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Create(v.Ctx, set, metav1.CreateOptions{})
	return err
}

// TestStorageRefused: a change that cannot be made stops no ordinal, and says why.
func TestStorageRefused(t *testing.T) {
	t.Parallel()
	d := disksOfOne(t, true)
	errRefused := errors.New("refused")
	for name, tc := range map[string]struct {
		change func(*storage)
		before func(*storage)
		reason string
	}{
		"an unknown claim template": {change: func(v *storage) { v.Migration.Spec.Volumes[0].ClaimTemplate = "other" }, reason: api.ReasonClaimTemplateMissing},
		"no change": {change: func(v *storage) {
			v.Migration.Spec.Volumes[0].StorageClassName, v.Migration.Spec.Volumes[0].Size = nil, nil
		}, reason: api.ReasonNothingToMove},
		"a class that does not exist": {change: func(v *storage) { v.Migration.Spec.Volumes[0].StorageClassName = new("none") }, reason: volumes.ReasonClassMissing},
		"a budget of zero":            {change: func(v *storage) { v.App.MaxUnavailable = harness.IntOrString("0") }, reason: api.ReasonBudgetZero},
		"claims that the set deletes": {change: func(v *storage) {
			adapt := v.App.Adapt
			v.App.Adapt = func(set *appsv1.StatefulSet) {
				adapt(set)
				set.Spec.PersistentVolumeClaimRetentionPolicy = &appsv1.StatefulSetPersistentVolumeClaimRetentionPolicy{
					WhenDeleted: appsv1.DeletePersistentVolumeClaimRetentionPolicyType, WhenScaled: appsv1.RetainPersistentVolumeClaimRetentionPolicyType,
				}
			}
		}, reason: volumes.ReasonClaimOwned},
		"data that do not fit": {
			change: func(v *storage) { v.Migration.Spec.Volumes[0].Size = new(resource.MustParse("64Mi")) },
			before: func(v *storage) {
				folder := v.mounted(v.Here(), d.sites[0])[0]
				treetest.In(v.T, folder).File("much", treetest.Bytes(7, 58<<20))
			},
			reason: volumes.ReasonCopySizeTooSmall,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := d.inPlace(t, 1, tc.change)
			if tc.before != nil {
				tc.before(v)
			}
			before := v.pods()
			err := harness.Follow(v.Ctx, t, v.Mover(), harness.StalledWith(tc.reason)(func() error { return errRefused }))
			if !errors.Is(err, errRefused) {
				t.Fatalf("it ended with %v", err)
			}
			if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
				t.Errorf("the pods are %v, and were %v", after, before)
			}
		})
	}
}
