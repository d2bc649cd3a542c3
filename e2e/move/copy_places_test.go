package move

import (
	"fmt"
	"os"
	"slices"
	"testing"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/treediff"
	"github.com/sliceshift/sliceshift/internal/treetest"
	"github.com/sliceshift/sliceshift/migration/plan"
	"github.com/sliceshift/sliceshift/volumes"
)

// withoutBalancer lets both sides reach each other as pods of one cluster do.
func withoutBalancer(v *harness.Move) { v.Migration.Spec.Volumes[0].Copy.ServiceType = "" }

// TestCopyWithin: method Copy also gives ordinals new disks within one cluster, in another namespace or under
// another name.
func TestCopyWithin(t *testing.T) {
	for name, within := range map[string]harness.Setting{"M-038, M-080: namespaces": harness.AcrossNamespaces, "M-038, M-080: names": harness.AcrossNames} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			v := newMove(t, harness.Usual(2), within, byCopy, withoutBalancer)
			v.runByCopy()
		})
	}
}

// severally moves an application of several claims, each by its own method.
func severally(specs ...api.VolumeSpec) harness.Setting {
	return func(v *harness.Move) {
		byCopy(v)
		copied := v.Migration.Spec.Volumes[0].Copy
		for i := range specs {
			if specs[i].Method == api.MethodCopy {
				specs[i].Copy = copied
			}
		}
		v.Migration.Spec.Volumes = specs
	}
}

// fillEach writes a file into each volume of a template and returns the paths of these volumes.
func (v *move) fillEach(template string) []string {
	v.T.Helper()
	places := v.places(v.Here(), template)
	for ordinal, at := range places {
		treetest.In(v.T, at).File(template, fmt.Appendf(nil, "%s of ordinal %d", template, ordinal))
	}
	return places
}

func (v *move) expectEqual(before, after []string) {
	v.T.Helper()
	for ordinal := range before {
		if after[ordinal] == before[ordinal] {
			v.T.Errorf("ordinal %d is on %s, which it had", ordinal, after[ordinal])
		}
		treetest.Equal(v.T, before[ordinal], after[ordinal])
	}
}

// TestCopyOfSeveral: all claims of an ordinal are copied before the ordinal starts.
func TestCopyOfSeveral(t *testing.T) {
	t.Parallel()
	app := fixture.App{Replicas: 2, Claims: []string{"data", "logs"}, MaxUnavailable: harness.IntOrString("1")}
	v := newMove(t, app, harness.AcrossClusters,
		severally(api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy}, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodCopy}))
	data, logs := v.fillEach("data"), v.fillEach("logs")
	v.Run()
	v.ExpectMoved()
	v.expectEqual(data, v.places(v.There(), "data"))
	v.expectEqual(logs, v.places(v.There(), "logs"))
	v.expectNoMovers()
	v.Audit()
}

// TestCopyOfSeveralTurnsBack: no volume of an ordinal is taken over before all are copied. Until then a
// rollback returns the ordinal to its original disks.
func TestCopyOfSeveralTurnsBack(t *testing.T) {
	t.Parallel()
	app := fixture.App{Replicas: 1, Claims: []string{"data", "logs"}}
	v := newMove(t, app, harness.AcrossClusters,
		severally(api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy}, api.VolumeSpec{ClaimTemplate: "logs", Method: api.MethodCopy}))
	data, logs := v.fillEach("data"), v.fillEach("logs")
	last := harness.Wrote(func(e *plan.Effect) bool {
		return e.Template == "logs" && e.Volume.Verb == volumes.TellMover && e.Volume.Copy.Role == volumes.RoleSender
	})
	mover := v.Mover()
	v.Drive(mover, last(func() error { return mover.Store.SetMode(v.Ctx, api.ModeRollback) }))
	v.ExpectSlice(v.Here(), 0, 1)
	v.ExpectVolumes(v.Here(), 2)
	for template, before := range map[string][]string{"data": data, "logs": logs} {
		if after := v.places(v.Here(), template); !slices.Equal(after, before) {
			t.Errorf("%s are on %v, and were on %v", template, after, before)
		}
	}
	v.expectNoMovers()
	v.Audit()
}

// TestCopyBesideOthers: one claim of an ordinal is copied, another is rebound, and a third starts empty.
func TestCopyBesideOthers(t *testing.T) {
	t.Parallel()
	app := fixture.App{Replicas: 2, Claims: []string{"data", "logs", "cache"}, MaxUnavailable: harness.IntOrString("1")}
	v := newMove(t, app, harness.AcrossClusters, severally(
		api.VolumeSpec{ClaimTemplate: "data", Method: api.MethodCopy},
		api.VolumeSpec{ClaimTemplate: "cache", Method: api.MethodEmpty, Empty: api.EmptySpec{FillsFromPeers: true, ReadyWhenFilled: true}},
	))
	data, logs, cache := v.fillEach("data"), v.fillEach("logs"), v.fillEach("cache")
	v.Run()
	v.ExpectMoved()
	v.expectEqual(data, v.places(v.There(), "data"))
	if after := v.places(v.There(), "logs"); !slices.Equal(after, logs) {
		t.Errorf("logs are in %v, and were in %v", after, logs)
	}
	for ordinal, at := range v.places(v.There(), "cache") {
		if at == cache[ordinal] {
			t.Errorf("the cache of ordinal %d is %s, which it had", ordinal, at)
		}
		if _, err := os.Stat(at + "/cache"); !os.IsNotExist(err) {
			t.Errorf("the cache of ordinal %d does not begin anew: %v", ordinal, err)
		}
	}
	v.expectNoMovers()
	v.Audit()
}

// onDevices makes the application use block devices, one in each cluster.
func onDevices(v *harness.Move) {
	class := "devices-" + v.App.Namespace
	for _, side := range []struct {
		harness.Cluster
		name string
	}{{v.From, "from"}, {v.To, "to"}} {
		deviceOf(v, side.Cluster, v.App.Namespace+"-"+side.name, class)
	}
	useDevices(v, class)
}

// deviceOf creates a class of devices in a cluster, and the only device of that class.
func deviceOf(v *harness.Move, at harness.Cluster, name, class string) {
	v.T.Helper()
	client := kubernetes.NewForConfigOrDie(at.RESTConfig())
	_, err := client.StorageV1().StorageClasses().Create(v.Ctx, &storagev1.StorageClass{
		ObjectMeta: metav1.ObjectMeta{Name: class}, Provisioner: "kubernetes.io/no-provisioner", VolumeBindingMode: new(storagev1.VolumeBindingImmediate),
	}, metav1.CreateOptions{})
	v.Must(err)
	device, _ := treetest.Loop(v.T, deviceSize)
	_, err = client.CoreV1().PersistentVolumes().Create(v.Ctx, &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: corev1.PersistentVolumeSpec{
			Capacity: corev1.ResourceList{corev1.ResourceStorage: *resource.NewQuantity(deviceSize, resource.BinarySI)}, StorageClassName: class,
			AccessModes: []corev1.PersistentVolumeAccessMode{corev1.ReadWriteOnce}, VolumeMode: new(corev1.PersistentVolumeBlock),
			PersistentVolumeReclaimPolicy: corev1.PersistentVolumeReclaimDelete,
			PersistentVolumeSource:        corev1.PersistentVolumeSource{Local: &corev1.LocalVolumeSource{Path: device}},
			NodeAffinity: &corev1.VolumeNodeAffinity{Required: &corev1.NodeSelector{NodeSelectorTerms: []corev1.NodeSelectorTerm{{
				MatchExpressions: []corev1.NodeSelectorRequirement{{Key: corev1.LabelHostname, Operator: corev1.NodeSelectorOpExists}},
			}}}},
		},
	}, metav1.CreateOptions{})
	v.Must(err)
}

// useDevices makes the application use block devices of a class.
func useDevices(v *harness.Move, class string) {
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		claim, container := &set.Spec.VolumeClaimTemplates[0].Spec, &set.Spec.Template.Spec.Containers[0]
		claim.VolumeMode, claim.StorageClassName = new(corev1.PersistentVolumeBlock), &class
		claim.Resources.Requests[corev1.ResourceStorage] = *resource.NewQuantity(deviceSize, resource.BinarySI)
		container.VolumeMounts, container.VolumeDevices = nil, []corev1.VolumeDevice{{Name: "data", DevicePath: "/dev/data"}}
	}
}

// deviceSize is the size of the devices, in bytes.
const deviceSize = 16 << 20

// TestCopyOfDevices: a claim of mode Block is copied from device to device.
func TestCopyOfDevices(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(1), harness.AcrossClusters, byCopy, onDevices)
	before := v.places(v.Here(), "data")
	content := treetest.Bytes(7, deviceSize)
	clear(content[3<<20 : 9<<20]) // a range that was never written
	v.Must(os.WriteFile(before[0], content, 0))
	v.Run()
	v.ExpectMoved()
	after := v.places(v.There(), "data")
	t.Run("M-033: the devices are equal", func(t *testing.T) {
		if found, err := treediff.Devices(before[0], after[0]); err != nil || len(found) > 0 || after[0] == before[0] {
			t.Errorf("%s and %s: %v %v", before[0], after[0], found, err)
		}
	})
	v.expectNoMovers()
	v.expectSeals()
	v.Audit()
}

// TestCopyToOtherModes: new volumes get the requested access modes. A rollback restores the original modes.
func TestCopyToOtherModes(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, byCopy, func(v *harness.Move) {
		v.Migration.Spec.Volumes[0].AccessModes = []corev1.PersistentVolumeAccessMode{corev1.ReadWriteMany}
	})
	before := v.filled()
	mover := v.Mover()
	v.Drive(mover, harness.Arrival(0)(func() error {
		v.expectModes(v.There(), corev1.ReadWriteMany)
		return mover.Store.SetMode(v.Ctx, api.ModeRollback)
	}))
	v.expectHome()
	v.expectCopies(v.Here(), before)
	v.expectModes(v.Here(), corev1.ReadWriteOnce)
	v.Audit()
}

// expectModes checks the access mode of all claims of a side.
func (v *move) expectModes(at harness.Endpoint, mode corev1.PersistentVolumeAccessMode) {
	v.T.Helper()
	claims, err := at.Client.CoreV1().PersistentVolumeClaims(at.Namespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	for _, claim := range claims.Items {
		if !slices.Equal(claim.Spec.AccessModes, []corev1.PersistentVolumeAccessMode{mode}) {
			v.T.Errorf("claim %s has %v, want %s", claim.Name, claim.Spec.AccessModes, mode)
		}
	}
}
