package move

import (
	"errors"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/fixture"
	"github.com/sliceshift/sliceshift/e2e/harness"
)

// device is the name of the claim template and of the claim in each pod.
const device = "device"

// serveDevices provides a few devices to every node of a side.
func (v *move) serveDevices(at harness.Cluster) {
	v.T.Helper()
	devices := kubernetes.NewForConfigOrDie(at.RESTConfig()).ResourceV1()
	driver, everywhere := v.App.Namespace+".example.com", true
	_, class := devices.DeviceClasses().Create(v.Ctx, &resourcev1.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace}, Spec: resourcev1.DeviceClassSpec{
		Selectors: []resourcev1.DeviceSelector{{CEL: &resourcev1.CELDeviceSelector{Expression: `device.driver == "` + driver + `"`}}},
	}}, metav1.CreateOptions{})
	_, slice := devices.ResourceSlices().Create(v.Ctx, &resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace}, Spec: resourcev1.ResourceSliceSpec{
		Driver: driver, Pool: resourcev1.ResourcePool{Name: v.App.Namespace, Generation: 1, ResourceSliceCount: 1}, AllNodes: &everywhere,
		Devices: []resourcev1.Device{{Name: "a"}, {Name: "b"}, {Name: "c"}},
	}}, metav1.CreateOptions{})
	v.Must(errors.Join(class, slice))
}

// claiming makes each pod claim its own device, by a ResourceClaimTemplate in the source's namespace.
func claiming(v *move) {
	v.T.Helper()
	v.serveDevices(v.From)
	c, err := harness.Client(v.From)
	v.Must(err)
	v.Must(fixture.Create(v.Ctx, c, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace}}))
	_, err = kubernetes.NewForConfigOrDie(v.From.RESTConfig()).ResourceV1().ResourceClaimTemplates(v.App.Namespace).Create(v.Ctx, &resourcev1.ResourceClaimTemplate{
		ObjectMeta: metav1.ObjectMeta{Name: device},
		Spec: resourcev1.ResourceClaimTemplateSpec{Spec: resourcev1.ResourceClaimSpec{Devices: resourcev1.DeviceClaim{Requests: []resourcev1.DeviceRequest{
			{Name: "one", Exactly: &resourcev1.ExactDeviceRequest{DeviceClassName: v.App.Namespace}},
		}}}},
	}, metav1.CreateOptions{})
	v.Must(err)
	v.App.Adapt = func(set *appsv1.StatefulSet) {
		spec, name := &set.Spec.Template.Spec, device
		spec.ResourceClaims = []corev1.PodResourceClaim{{Name: device, ResourceClaimTemplateName: &name}}
		spec.Containers[0].Resources.Claims = []corev1.ResourceClaim{{Name: device}}
	}
}

// TestClaimTemplatesComeAlong: the ResourceClaimTemplate is copied unchanged, and the pods get devices of the
// destination. A DeviceClass is never copied; without it the run is refused.
func TestClaimTemplatesComeAlong(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, by(claiming))
	out := v.exits(v.cli("run", "--copy-dependencies"), exitRefused)
	if !strings.Contains(out, "DeviceClass "+v.App.Namespace) || !strings.Contains(out, api.ReasonDependencyMissing) {
		t.Errorf("it does not name the class:\n%s", out)
	}
	v.serveDevices(v.To)
	v.exits(v.cli("run", "--copy-dependencies"), 0)
	from, err := v.Source.ResourceV1().ResourceClaimTemplates(v.App.Namespace).Get(v.Ctx, device, metav1.GetOptions{})
	v.Must(err)
	to, err := v.Destination.ResourceV1().ResourceClaimTemplates(v.ToNamespace).Get(v.Ctx, device, metav1.GetOptions{})
	v.Must(err)
	if diff := cmp.Diff(from.Spec, to.Spec); diff != "" || !strings.Contains(to.Annotations[api.OriginAnnotationKey], v.App.Namespace+"/"+device+" ") {
		t.Errorf("the copy has %v and differs (-source +destination):\n%s", to.Annotations, diff)
	}
	claims, err := v.Destination.ResourceV1().ResourceClaims(v.ToNamespace).List(v.Ctx, metav1.ListOptions{})
	v.Must(err)
	allocated := 0
	for i := range claims.Items {
		if claims.Items[i].Status.Allocation != nil {
			allocated++
		}
	}
	if allocated != 2 {
		t.Errorf("%d of 2 pods have a device: %+v", allocated, claims.Items)
	}
	v.ExpectMovedCleanly()
}
