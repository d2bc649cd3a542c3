package move

import (
	"context"
	"encoding/json"
	"encoding/pem"
	"fmt"
	"net/http"
	"net/http/httptest"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/informers"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/cache"
)

// outages records how long each ordinal had no serving pod, according to the watches of the two API servers.
type outages struct {
	mu sync.Mutex
	// up records where each pod serves, since the time since which it serves nowhere, and most its longest
	// outage.
	up    map[string]map[kubernetes.Interface]bool
	since map[string]time.Time
	most  map[string]time.Duration
}

// watchOutages watches the pods until the test ends. It starts while all of them serve.
func (v *move) watchOutages(t *testing.T) *outages {
	o := &outages{up: map[string]map[kubernetes.Interface]bool{}, since: map[string]time.Time{}, most: map[string]time.Duration{}}
	for side, namespace := range map[kubernetes.Interface]string{v.Source: v.App.Namespace, v.Destination: v.ToNamespace} {
		factory := informers.NewSharedInformerFactoryWithOptions(side, 0, informers.WithNamespace(namespace),
			informers.WithTweakListOptions(func(list *metav1.ListOptions) { list.LabelSelector = "app=" + v.App.Name }))
		note := func(object any, exists bool) {
			if pod, is := object.(*corev1.Pod); is {
				o.note(side, pod.Name, exists && serves(pod))
			}
		}
		registered, err := factory.Core().V1().Pods().Informer().AddEventHandler(cache.ResourceEventHandlerFuncs{
			AddFunc: func(object any) { note(object, true) }, UpdateFunc: func(_, object any) { note(object, true) },
			DeleteFunc: func(object any) { note(object, false) },
		})
		v.Must(err)
		factory.Start(t.Context().Done())
		t.Cleanup(factory.Shutdown)
		if !cache.WaitForCacheSync(v.Ctx.Done(), registered.HasSynced) {
			t.Fatal("the pods are not shown")
		}
	}
	return o
}

// serves reports whether a pod is Ready and not Terminating.
func serves(pod *corev1.Pod) bool {
	for _, condition := range pod.Status.Conditions {
		if condition.Type == corev1.PodReady {
			return condition.Status == corev1.ConditionTrue && pod.DeletionTimestamp == nil
		}
	}
	return false
}

func (o *outages) note(side kubernetes.Interface, pod string, serves bool) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.up[pod] == nil {
		o.up[pod] = map[kubernetes.Interface]bool{}
	}
	o.up[pod][side] = serves
	for _, somewhere := range o.up[pod] {
		serves = serves || somewhere
	}
	began, down := o.since[pod]
	switch {
	case serves && down:
		o.most[pod] = max(o.most[pod], time.Since(began))
		delete(o.since, pod)
	case !serves && !down:
		o.since[pod] = time.Now()
	}
}

// longest returns the longest outage of each pod. It fails if a pod had no outage or does not serve again.
func (o *outages) longest(v *move) map[string]time.Duration {
	v.T.Helper()
	o.mu.Lock()
	defer o.mu.Unlock()
	for ordinal := v.App.Start; ordinal < v.App.Start+v.App.Replicas; ordinal++ {
		pod := fmt.Sprintf("%s-%d", v.App.Name, ordinal)
		if _, down := o.since[pod]; down || o.most[pod] == 0 {
			v.T.Errorf("%s was not seen to stop and to start", pod)
		}
	}
	return o.most
}

// jobsWebhook installs a validating webhook for Jobs on each side. It allows them until fails is true.
func (v *move) jobsWebhook(t *testing.T) (fails *atomic.Bool) {
	fails = &atomic.Bool{}
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		var review admissionv1.AdmissionReview
		if err := json.NewDecoder(r.Body).Decode(&review); err != nil || fails.Load() {
			http.Error(w, "out of order", http.StatusInternalServerError)
			return
		}
		review.Response = &admissionv1.AdmissionResponse{UID: review.Request.UID, Allowed: true}
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(review)
	}))
	t.Cleanup(server.Close)
	for side, namespace := range map[kubernetes.Interface]string{v.Source: v.App.Namespace, v.Destination: v.ToNamespace} {
		webhooks := side.AdmissionregistrationV1().ValidatingWebhookConfigurations()
		_, err := webhooks.Create(v.Ctx, &admissionregistrationv1.ValidatingWebhookConfiguration{
			ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace},
			Webhooks: []admissionregistrationv1.ValidatingWebhook{{
				Name: "jobs.policy.corp", AdmissionReviewVersions: []string{"v1"},
				SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
				ClientConfig: admissionregistrationv1.WebhookClientConfig{
					URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
				},
				NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: namespace}},
				Rules: []admissionregistrationv1.RuleWithOperations{{
					Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
					Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
				}},
			}},
		}, metav1.CreateOptions{})
		v.Must(err)
		t.Cleanup(func() { _ = webhooks.Delete(context.WithoutCancel(v.Ctx), v.App.Namespace, metav1.DeleteOptions{}) })
	}
	return fails
}
