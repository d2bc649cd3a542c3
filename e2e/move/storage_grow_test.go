package move

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/csi"
	"github.com/sliceshift/sliceshift/e2e/csi/kubelet"
	"github.com/sliceshift/sliceshift/e2e/csi/sidecar"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/engine"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// goldClass is a class of attributes of the driver. Volumes of onlineClass have a file system that grows while it is mounted,
// on any machine.
const goldClass, onlineClass = "gold", "online"

// largeSize is the request of claims after their growth, and tooLarge is more than the driver gives.
var largeSize, tooLarge = resource.MustParse("1280Mi"), resource.MustParse("2Ti")

// growing starts a cluster whose driver grows and modifies volumes by the sidecar of Kubernetes.
func growing(t *testing.T) *disks {
	t.Helper()
	d := disksOfOne(t, true, sidecar.Resizer)
	classes := kubernetes.NewForConfigOrDie(d.clusters[0].RESTConfig()).StorageV1()
	_, err := classes.VolumeAttributesClasses().Create(t.Context(), &storagev1.VolumeAttributesClass{
		ObjectMeta: metav1.ObjectMeta{Name: goldClass}, DriverName: diskDriver, Parameters: map[string]string{csi.Tier: goldClass},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	_, err = classes.StorageClasses().Create(t.Context(), &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: onlineClass}, Provisioner: diskDriver, AllowVolumeExpansion: new(true), Parameters: map[string]string{"csi.storage.k8s.io/fstype": "xfs"},
	}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return d
}

// adapted changes the first claim template of the application.
func (v *storage) adapted(change func(*corev1.PersistentVolumeClaim)) {
	adapt := v.App.Adapt
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		adapt(set)
		change(&set.Spec.VolumeClaimTemplates[0])
	}
}

// online gives volumes a file system that grows while it is mounted.
func online(v *storage) {
	v.adapted(func(template *corev1.PersistentVolumeClaim) { template.Spec.StorageClassName = new(onlineClass) })
}

// keeping keeps the volumes, and asks the driver for a size and for attributes.
func keeping(size *resource.Quantity, attributes *string) func(*storage) {
	return func(v *storage) {
		v.Migration.Spec.Volumes = []api.VolumeSpec{{ClaimTemplate: "data", Method: api.MethodRebind, Size: size, VolumeAttributesClassName: attributes}}
	}
}

// claim returns the claim of an ordinal.
func (v *storage) claim(template string, ordinal int32) *corev1.PersistentVolumeClaim {
	v.T.Helper()
	claim, err := v.Source.CoreV1().PersistentVolumeClaims(v.App.Namespace).Get(v.Ctx, plan.ClaimName(template, v.App.Name, ordinal), metav1.GetOptions{})
	v.Must(err)
	return claim
}

// expectGrown checks that the claims of a template have a size and attributes, and the set such a template.
func (v *storage) expectGrown(template string, size resource.Quantity, attributes string) {
	v.T.Helper()
	for ordinal := range v.App.Replicas {
		claim := v.claim(template, ordinal)
		has := claim.Status.Capacity[corev1.ResourceStorage]
		if has.Cmp(size) != 0 || ptr.Deref(claim.Status.CurrentVolumeAttributesClassName, "") != attributes || len(claim.Status.Conditions) > 0 {
			v.T.Errorf("claim %s has %s and the attributes %q: %v", claim.Name, has.String(), ptr.Deref(claim.Status.CurrentVolumeAttributesClassName, ""), claim.Status.Conditions)
		}
	}
	set, err := v.Source.AppsV1().StatefulSets(v.App.Namespace).Get(v.Ctx, v.App.Name, metav1.GetOptions{})
	v.Must(err)
	for _, of := range set.Spec.VolumeClaimTemplates {
		if asks := of.Spec.Resources.Requests[corev1.ResourceStorage]; of.Name == template && (asks.Cmp(size) != 0 || ptr.Deref(of.Spec.VolumeAttributesClassName, "") != attributes) {
			v.T.Errorf("the template asks for %s and %q", asks.String(), ptr.Deref(of.Spec.VolumeAttributesClassName, ""))
		}
	}
}

// onClaims reports each write of what a claim asks for.
func onClaims(do func(claim string) error) harness.Report {
	return func(_ *api.Migration, outcome engine.Outcome) error {
		if e := outcome.Decision.Effect; outcome.Wrote && e.Verb == plan.ChangeClaim {
			return do(e.Name)
		}
		return nil
	}
}

// oneByOne checks, when a claim was written, that the claims of the other ordinals have what they ask for.
func (v *storage) oneByOne(written string) error {
	for ordinal := range v.App.Replicas {
		claim := v.claim("data", ordinal)
		asks, has := claim.Spec.Resources.Requests[corev1.ResourceStorage], claim.Status.Capacity[corev1.ResourceStorage]
		if claim.Name != written && has.Cmp(asks) < 0 {
			return fmt.Errorf("claim %s is written while %s grows", written, claim.Name)
		}
	}
	return nil
}

// logs adds a second claim template, and asks the driver for more of it.
func logs(v *storage) {
	adapt := v.App.Adapt
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		adapt(set)
		more := set.Spec.VolumeClaimTemplates[0].DeepCopy()
		more.Name = "logs"
		set.Spec.VolumeClaimTemplates = append(set.Spec.VolumeClaimTemplates, *more)
	}
	v.Migration.Spec.Volumes = append(v.Migration.Spec.Volumes, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodRebind, Size: &largeSize})
}

// atMount lets file systems grow only when a pod mounts them.
func atMount(v *storage) {
	v.adapted(func(template *corev1.PersistentVolumeClaim) {
		template.Annotations = map[string]string{kubelet.AtMountKey: "true"}
	})
}

// TestStorageGrows: the driver changes the volumes of a running set, one ordinal after the other, and no pod is stopped unless
// its file system grows only then.
func TestStorageGrows(t *testing.T) {
	t.Parallel()
	d := growing(t)
	t.Run("size and attributes", func(t *testing.T) {
		v := d.inPlace(t, 3, keeping(&largeSize, new(goldClass)), online)
		folders, before := v.mounted(v.Here(), d.sites[0]), v.pods()
		for ordinal, folder := range folders { // xfs has other attributes of ACLs than the copy
			treetest.In(t, folder).File("data", treetest.Bytes(uint64(ordinal), 1<<20))
		}
		data := v.keep(folders)
		var order []string
		v.Run(v.recreated(), onClaims(func(claim string) error {
			order = append(order, claim)
			return v.oneByOne(claim)
		}))
		if want := []string{"data-web-2", "data-web-1", "data-web-0"}; strings.Join(order, " ") != strings.Join(want, " ") {
			t.Errorf("written %v, want %v", order, want)
		}
		v.expectGrown("data", largeSize, goldClass)
		v.expectContent(data)
		if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
			t.Errorf("the pods are %v, and were %v", after, before)
		}
	})
	t.Run("by the command", func(t *testing.T) {
		v := d.inPlace(t, 2, online)
		change := "data=size=" + largeSize.String()
		if text := v.exits(v.inPlaceCLI("storage", "--volume", change), 0); !strings.Contains(text, "No replica is stopped") || !strings.Contains(text, "2 expand") {
			t.Errorf("the plan:\n%s", text)
		}
		v.exits(v.inPlaceCLI("run", "--in-place", "--volume", change), 0)
		v.expectGrown("data", largeSize, "")
		if text := v.exits(v.inPlaceCLI("storage", "--volume", change), 0); !strings.Contains(text, "there is nothing to do") {
			t.Errorf("the plan after it:\n%s", text)
		}
		v.exits(v.inPlaceCLI("storage", "--check"), 0)
	})
	t.Run("one template grows, and the other one is copied and cleaned", func(t *testing.T) {
		v := d.inPlace(t, 2, logs)
		v.Migration.Spec.Cleanup.Source = api.CleanupDelete
		data, w := v.fill(), v.watch()
		left := []string{v.claim("data", 0).Spec.VolumeName, v.claim("data", 1).Spec.VolumeName}
		disks := []string{v.claim("logs", 0).Spec.VolumeName, v.claim("logs", 1).Spec.VolumeName}
		v.Run()
		v.expectClaims(fastClass, newSize)
		v.expectContent(data)
		v.expectGrown("logs", largeSize, "")
		w.agree()
		if after := []string{v.claim("logs", 0).Spec.VolumeName, v.claim("logs", 1).Spec.VolumeName}; fmt.Sprint(after) != fmt.Sprint(disks) {
			t.Errorf("the volumes that grow are %v, and were %v", after, disks)
		}
		v.expectNoMovers()
		for _, name := range left {
			v.Eventually("the cluster deletes "+name, func(ctx context.Context) (bool, error) {
				_, err := v.Source.CoreV1().PersistentVolumes().Get(ctx, name, metav1.GetOptions{})
				return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
			})
		}
	})
	t.Run("a restart where a file system grows only then", func(t *testing.T) {
		v := d.inPlace(t, 1, keeping(&largeSize, nil), atMount)
		data, before, evicted := v.fill(), v.pods(), 0
		v.Run(func(_ *api.Migration, outcome engine.Outcome) error {
			if outcome.Wrote && outcome.Decision.Effect.Verb == plan.EvictPod {
				evicted++
			}
			return nil
		})
		v.expectGrown("data", largeSize, "")
		v.expectContent(data)
		after := v.pods()
		for name, pod := range before {
			if after[name] == pod {
				t.Errorf("pod %s was not restarted", name)
			}
		}
		if evicted != 1 {
			t.Errorf("%d pods were evicted", evicted)
		}
	})
}

// TestStorageGrowthIsRefused: what the driver refuses stalls the migration with its error and the way out, and no pod is
// stopped.
func TestStorageGrowthIsRefused(t *testing.T) {
	t.Parallel()
	d := growing(t)
	v := d.inPlace(t, 2, keeping(&tooLarge, nil))
	before := v.pods()
	errRefused := errors.New("refused")
	err := harness.Follow(v.Ctx, t, v.Mover(), harness.StalledWith(api.ReasonStorageUnfit)(func() error { return errRefused }))
	if !errors.Is(err, errRefused) {
		t.Fatalf("it ended with %v", err)
	}
	if m := v.recorded(); !strings.Contains(fmt.Sprint(m.Status.Conditions), "are not possible") {
		t.Errorf("the conditions do not have the error of the driver: %v", m.Status.Conditions)
	}
	if after := v.pods(); fmt.Sprint(after) != fmt.Sprint(before) {
		t.Errorf("the pods are %v, and were %v", after, before)
	}
}
