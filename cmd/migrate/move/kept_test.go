package move

import (
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/cmd/migrate/move/movetest"
	"github.com/sliceshift/sliceshift/internal/records"
)

// TestKeptIsTold: the status of a completed migration, and the report, list the volumes that ordinals have left behind
// and the commands that remove them. The status of a migration in progress does not.
func TestKeptIsTold(t *testing.T) {
	for name, tc := range map[string]struct {
		args []string
		m    *api.Migration
		want []string
	}{
		"status":             {[]string{"status"}, movetest.RolledBack(), []string{"Kept         1 volume in cluster east", "pv of claim shop/data-web-0; to remove the object: kubectl --kubeconfig KUBECONFIG --context east delete pv ", "kept --context DESTINATION"}},
		"status, under way":  {[]string{"status"}, movetest.InFlight(), nil},
		"report":             {[]string{"report"}, movetest.RolledBack(), []string{"Volumes that were left behind", "shop/data-web-0", "kubectl --kubeconfig KUBECONFIG --context east delete pv "}},
		"report, as JSON":    {[]string{"report", "-o", "json"}, movetest.RolledBack(), []string{`"volume": "pv"`, `"remove": "kubectl --kubeconfig KUBECONFIG --context east delete pv `}},
		"the command itself": {[]string{"kept"}, movetest.RolledBack(), []string{"VOLUME", "shop/data-web-0", "kubectl --kubeconfig KUBECONFIG --context east delete pv "}},
	} {
		t.Run(name, func(t *testing.T) {
			east := serveRecord(t, tc.m)
			record := &corev1.ConfigMap{}
			if err := east.Store.Get(t.Context(), client.ObjectKey{Namespace: "shop", Name: records.ConfigMap{Name: "web"}.ObjectName()}, record); err != nil {
				t.Fatal(err)
			}
			volume := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: "pv", Annotations: map[string]string{
				api.OriginalReclaimPolicyAnnotationKey: "Delete " + string(record.UID), api.SealAnnotationKey: "blake3:1",
			}}}
			volume.Spec.PersistentVolumeReclaimPolicy = corev1.PersistentVolumeReclaimRetain
			volume.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "shop", Name: "data-web-0_parked"}
			if err := east.Store.Create(t.Context(), volume); err != nil {
				t.Fatal(err)
			}
			args := append([]string{}, tc.args...)
			if tc.args[0] != "kept" {
				args = append([]string{tc.args[0], "web"}, tc.args[1:]...)
			}
			kubeconfig := east.Kubeconfig(t)
			c := newConsole(append(args, "--kubeconfig", kubeconfig)...)
			if code := c.Run(t); code != 0 {
				t.Fatalf("exit code %d: %s", code, c.Stderr)
			}
			for _, part := range tc.want {
				if !strings.Contains(c.Stdout.String(), strings.ReplaceAll(part, "KUBECONFIG", kubeconfig)) {
					t.Errorf("no %q in:\n%s", part, c.Stdout)
				}
			}
			if tc.want == nil && strings.Contains(c.Stdout.String(), "Kept") {
				t.Errorf("got:\n%s", c.Stdout)
			}
		})
	}
}
