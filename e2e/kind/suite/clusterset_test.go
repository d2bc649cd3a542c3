package suite

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	mcsv1beta1 "sigs.k8s.io/mcs-api/pkg/apis/v1beta1"

	"github.com/sliceshift/sliceshift/e2e/kind"
	"github.com/sliceshift/sliceshift/e2e/kind/cases"
	"github.com/sliceshift/sliceshift/e2e/kind/replica"
	"github.com/sliceshift/sliceshift/e2e/kind/setup"
	"github.com/sliceshift/sliceshift/e2e/mcs"
)

// clusterset starts the controller that imports the exported Services of each cluster into both, from then on.
var clusterset = sync.OnceValue(func() error {
	return mcs.Start(context.Background(), mcs.Member{Name: "east", Config: pair.East.Config}, mcs.Member{Name: "west", Config: pair.West.Config})
})

// TestClusterset: a pod in west finds the exports of east under the name of the clusterset. It finds a single pod by a
// headless Service, and any pod by a Service with an address. West follows when the pod restarts with another address,
// and when the export is deleted.
func TestClusterset(t *testing.T) {
	needMachines(t)
	t.Parallel()
	v := deploy(t, app{replicas: 1, grace: 5})
	v.must(clusterset())
	v.must(setup.Namespace(v.ctx, pair.West, v.app.namespace))
	for _, s := range []*corev1.Service{v.named("web-0", corev1.ClusterIPNone), v.named("front", "")} {
		v.must(setup.Create(v.ctx, pair.East, &mcsv1beta1.ServiceExport{ObjectMeta: s.ObjectMeta}))
		v.must(setup.Create(v.ctx, pair.East, s))
	}
	for _, service := range []string{"web-0", "front"} {
		t.Run("M-014: "+service+" is reached by its name in the clusterset", func(t *testing.T) {
			v.must(v.awaitExport(service))
			if page := v.getInWest("get-"+service, service, corev1.PodSucceeded); !strings.Contains(page, " web-0 ") {
				t.Errorf("%s in west does not lead to web-0 in east: %q", service, page)
			}
		})
	}
	took := v.readdress()
	c, err := setup.Client(pair.East)
	v.must(err)
	v.must(c.Delete(v.ctx, &mcsv1beta1.ServiceExport{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: "web-0"}}))
	v.must(v.awaitNoImport("web-0"))
	if page := v.getInWest("get-nothing", "web-0", corev1.PodFailed); !strings.Contains(page, "no such host") {
		t.Errorf("web-0 is still found: %q", page)
	}
	results.Add(cases.Row{Name: t.Name(), Remark: fmt.Sprintf("another address is known in west %d ms after east", took.Milliseconds())})
}

// named returns a Service that selects the only pod.
func (v *move) named(name, ip string) *corev1.Service {
	return &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: name}, Spec: corev1.ServiceSpec{
		ClusterIP: ip, Selector: map[string]string{"statefulset.kubernetes.io/pod-name": "web-0"}, Ports: []corev1.ServicePort{{Port: replica.Port}},
	}}
}

// awaitExport waits until east reports that a Service is exported.
func (v *move) awaitExport(service string) error {
	c, err := setup.Client(pair.East)
	if err != nil {
		return err
	}
	return pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		export := &mcsv1beta1.ServiceExport{}
		err := c.Get(ctx, client.ObjectKey{Namespace: v.app.namespace, Name: service}, export)
		return meta.IsStatusConditionTrue(export.Status.Conditions, string(mcsv1beta1.ServiceExportConditionReady)), err
	})
}

// awaitNoImport waits until neither cluster imports a Service.
func (v *move) awaitNoImport(service string) error {
	for _, at := range pair.Both() {
		c, err := setup.Client(at)
		if err != nil {
			return err
		}
		err = pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
			err := c.Get(ctx, client.ObjectKey{Namespace: v.app.namespace, Name: service}, &mcsv1beta1.ServiceImport{})
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		})
		if err != nil {
			return fmt.Errorf("cluster %s still imports %s: %w", at.Name, service, err)
		}
	}
	return nil
}

// getInWest runs a pod in west that requests the journal by the name of the clusterset, and returns its output.
func (v *move) getInWest(name, service string, want corev1.PodPhase) string {
	v.t.Helper()
	// A name with a trailing dot is looked up without search domains.
	url := fmt.Sprintf("http://%s.%s.svc.clusterset.local.:%d/journal", service, v.app.namespace, replica.Port)
	pod := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: v.app.namespace, Name: name}, Spec: corev1.PodSpec{
		RestartPolicy: corev1.RestartPolicyNever, AutomountServiceAccountToken: new(false), TerminationGracePeriodSeconds: ptr.To[int64](0),
		Containers: []corev1.Container{{
			Name: "get", Image: image, ImagePullPolicy: corev1.PullIfNotPresent, Args: []string{"get", "3s", url},
			TerminationMessagePolicy: corev1.TerminationMessageFallbackToLogsOnError,
		}},
	}}
	pods := pair.West.Client.CoreV1().Pods(v.app.namespace)
	_, err := pods.Create(v.ctx, pod, metav1.CreateOptions{})
	v.must(err)
	v.must(pollUntil(v.ctx, func(ctx context.Context) (bool, error) {
		pod, err = pods.Get(ctx, name, metav1.GetOptions{})
		return err == nil && (pod.Status.Phase == corev1.PodSucceeded || pod.Status.Phase == corev1.PodFailed), err
	}))
	page, err := pods.GetLogs(name, &corev1.PodLogOptions{}).DoRaw(v.ctx)
	v.must(err)
	if pod.Status.Phase != want {
		v.t.Errorf("%s: %s in west is %s, want %s: %s", url, name, pod.Status.Phase, want, page)
	}
	return string(page)
}

// readdress deletes the pod and measures how long after east west has its new address.
func (v *move) readdress() time.Duration {
	v.t.Helper()
	const often = 5 * time.Millisecond
	before, err := v.addresses(v.ctx, pair.East, discoveryv1.LabelServiceName)
	v.must(err)
	v.must(pair.East.Client.CoreV1().Pods(v.app.namespace).Delete(v.ctx, "web-0", metav1.DeleteOptions{}))
	var now []string
	v.must(wait.PollUntilContextCancel(v.ctx, often, true, func(ctx context.Context) (bool, error) {
		now, err = v.addresses(ctx, pair.East, discoveryv1.LabelServiceName)
		return len(now) > 0 && !slices.Equal(now, before), err
	}))
	known := time.Now()
	v.must(wait.PollUntilContextCancel(v.ctx, often, true, func(ctx context.Context) (bool, error) {
		mirrored, err := v.addresses(ctx, pair.West, mcsv1beta1.LabelServiceName)
		return slices.Equal(mirrored, now), err
	}))
	return time.Since(known)
}

// addresses returns the addresses of web-0 in the EndpointSlices of a cluster, selected by label.
func (v *move) addresses(ctx context.Context, at *kind.Cluster, label string) ([]string, error) {
	list, err := at.Client.DiscoveryV1().EndpointSlices(v.app.namespace).List(ctx, metav1.ListOptions{LabelSelector: label + "=web-0"})
	if err != nil {
		return nil, err
	}
	var all []string
	for i := range list.Items {
		for _, endpoint := range list.Items[i].Endpoints {
			all = append(all, endpoint.Addresses...)
		}
	}
	slices.Sort(all)
	return all, nil
}
