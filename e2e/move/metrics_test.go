package move

import (
	"context"
	"crypto/tls"
	"io"
	"net/http"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// getMetrics reads the metrics once they are served. It accepts the manager's own certificate.
func getMetrics(t *testing.T, address, token string) (code int, body string) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}}} //nolint:gosec // it is nobody else's
	defer client.CloseIdleConnections()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, harness.TimeLimit(), true, func(ctx context.Context) (bool, error) {
		request, err := http.NewRequestWithContext(ctx, http.MethodGet, "https://"+address+"/metrics", nil)
		if err != nil {
			return false, err
		}
		if token != "" {
			request.Header.Set("Authorization", "Bearer "+token)
		}
		response, err := client.Do(request)
		if err != nil {
			return false, nil // it does not serve yet
		}
		defer response.Body.Close()
		data, err := io.ReadAll(response.Body)
		code, body = response.StatusCode, string(data)
		return true, err
	})
	if err != nil {
		t.Fatal(err)
	}
	return code, body
}

// tokenOf returns a token of a ServiceAccount.
func tokenOf(t *testing.T, c client.Client, namespace, name string) string {
	t.Helper()
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}}
	request := &authenticationv1.TokenRequest{}
	if err := c.SubResource("token").Create(t.Context(), account, request); err != nil {
		t.Fatal(err)
	}
	return request.Status.Token
}

// TestMetrics: the metrics are available only to accounts that may read them.
func TestMetrics(t *testing.T) {
	t.Parallel()
	namespace, address := "t-"+rand.String(8), loopback.AddressFor(t)
	m := harness.NewManager(t, namespace, "manager.log")
	m.Args = append(m.Args, "--metrics-bind-address", address)
	m.Run()
	c, err := harness.Client(harness.East())
	if err != nil {
		t.Fatal(err)
	}
	readers(t, namespace)
	for name, tc := range map[string]struct {
		token string
		want  int
	}{
		"nobody":     {"", http.StatusUnauthorized},
		"a forger":   {"forged", http.StatusInternalServerError}, // controller-runtime's answer to an invalid token
		"anybody":    {tokenOf(t, c, namespace, "somebody"), http.StatusForbidden},
		"the reader": {tokenOf(t, c, namespace, "prometheus"), http.StatusOK},
	} {
		t.Run(name, func(t *testing.T) {
			code, body := getMetrics(t, address, tc.token)
			if code != tc.want || strings.Contains(body, "sliceshift_") != (tc.want == http.StatusOK) {
				t.Errorf("got %d, want %d:\n%.200s", code, tc.want, body)
			}
		})
	}
	plain, err := http.Get("http://" + address + "/metrics") //nolint:noctx // it is answered at once
	if err != nil {
		t.Fatal(err)
	}
	defer plain.Body.Close()
	if plain.StatusCode != http.StatusBadRequest {
		t.Errorf("without TLS: %s", plain.Status)
	}
}

// readers creates a ServiceAccount that may read metrics, in its own namespace.
func readers(t *testing.T, namespace string) {
	t.Helper()
	api := kubernetes.NewForConfigOrDie(harness.East().RESTConfig())
	ctx := t.Context()
	if _, err := api.CoreV1().Namespaces().Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace}}, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"prometheus", "somebody"} {
		if _, err := api.CoreV1().ServiceAccounts(namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{}); err != nil {
			t.Fatal(err)
		}
	}
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{Name: "metrics-" + namespace},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "sliceshift-metrics-reader"},
		Subjects:   []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: namespace, Name: "prometheus"}},
	}
	if _, err := api.RbacV1().ClusterRoleBindings().Create(ctx, binding, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
}
