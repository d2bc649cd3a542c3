package move

import (
	"context"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	batchv1 "k8s.io/api/batch/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/migration/engine"
)

// TestHookBehindAFailingWebhook: a webhook that fails when the Job of a hook is created is named as the cause
// of the refusal. The cluster is not treated as unreachable, and the migration continues when the webhook works
// again.
func TestHookBehindAFailingWebhook(t *testing.T) {
	t.Parallel()
	v := newMove(t, harness.Usual(2), harness.AcrossClusters, withHooks(hook("leave", api.HookBeforeOrdinal)))
	v.runHooks(t, v.Source, func(map[string]string) string { return "" })
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		http.Error(w, "out of order", http.StatusInternalServerError)
	}))
	t.Cleanup(server.Close)
	webhooks := v.Source.AdmissionregistrationV1().ValidatingWebhookConfigurations()
	failing := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: v.App.Namespace},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "jobs.policy.corp", AdmissionReviewVersions: []string{"v1"}, SideEffects: new(admissionregistrationv1.SideEffectClassNone), FailurePolicy: new(admissionregistrationv1.Fail),
			ClientConfig:      admissionregistrationv1.WebhookClientConfig{URL: &server.URL, CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw})},
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": v.App.Namespace}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule:       admissionregistrationv1.Rule{APIGroups: []string{"batch"}, APIVersions: []string{"v1"}, Resources: []string{"jobs"}},
			}},
		}},
	}
	rehearsed := &batchv1.Job{ObjectMeta: metav1.ObjectMeta{Name: "rehearsed"}, Spec: hook("leave", api.HookBeforeOrdinal).Job.Spec.JobSpec}
	rehearsed.Spec.Template.Spec.RestartPolicy = corev1.RestartPolicyNever
	gone := false
	v.Run(harness.Arrival(1)(func() error {
		_, err := webhooks.Create(v.Ctx, failing, metav1.CreateOptions{})
		v.Must(err)
		v.Eventually("the webhook is asked", func(ctx context.Context) (bool, error) {
			_, err := v.Source.BatchV1().Jobs(v.App.Namespace).Create(ctx, rehearsed, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
			return err != nil, nil
		})
		return nil
	}), func(_ *api.Migration, outcome engine.Outcome) error {
		hold := outcome.Decision.Hold
		if gone || hold == nil || !hold.Stalled {
			return nil
		}
		gone = true
		if hold.Reason != api.ReasonHookRefused || !strings.Contains(hold.Message, "jobs.policy.corp") || !strings.Contains(hold.Remedy, "hooks skip") {
			t.Errorf("it stalls with %+v", hold)
		}
		return webhooks.Delete(v.Ctx, v.App.Namespace, metav1.DeleteOptions{})
	})
	if !gone {
		t.Error("nothing was refused")
	}
	v.ExpectMovedCleanly()
	v.Audit()
}
