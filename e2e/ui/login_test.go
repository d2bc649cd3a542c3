package ui

import (
	"context"
	"net"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"github.com/sliceshift/sliceshift/e2e/harness"
	"github.com/sliceshift/sliceshift/e2e/staged"
	"github.com/sliceshift/sliceshift/internal/loopback"
)

// oncall creates an account that may use the page of a manager and view the Migrations of a namespace. It
// returns the account's token.
func (s *shop) oncall() (token string) {
	s.Helper()
	api, ctx := kubernetes.NewForConfigOrDie(harness.East().RESTConfig()), s.Context()
	subjects := []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: s.namespace, Name: "on-call"}}
	role := func(name string) rbacv1.RoleRef {
		return rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: name}
	}
	_, err := api.CoreV1().ServiceAccounts(s.namespace).Create(ctx, &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "on-call"}}, metav1.CreateOptions{})
	if err == nil {
		_, err = api.RbacV1().ClusterRoleBindings().Create(ctx, &rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "page-" + s.namespace}, RoleRef: role("sliceshift-page-user"), Subjects: subjects}, metav1.CreateOptions{})
	}
	if err == nil {
		_, err = api.RbacV1().RoleBindings(s.namespace).Create(ctx, &rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "on-call"}, RoleRef: role("view"), Subjects: subjects}, metav1.CreateOptions{})
	}
	if err != nil {
		s.Fatal(err)
	}
	made, err := api.CoreV1().ServiceAccounts(s.namespace).CreateToken(ctx, "on-call", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		s.Fatal(err)
	}
	return made.Status.Token
}

// listens waits until an address accepts connections.
func (s *shop) listens(address string) {
	s.Helper()
	var dialer net.Dialer
	err := wait.PollUntilContextTimeout(s.Context(), 20*time.Millisecond, patience, true, func(ctx context.Context) (bool, error) {
		connection, err := dialer.DialContext(ctx, "tcp", address)
		if err != nil {
			return false, nil //nolint:nilerr // not yet
		}
		return true, connection.Close()
	})
	if err != nil {
		s.Fatalf("nobody listens at %s: %v", address, err)
	}
}

// TestLogin: the page of a manager requests a token, explains why a token is refused, and shows the objects
// that its user may see. It refuses actions that the user may not take, and shows nothing after the token is
// forgotten.
func TestLogin(t *testing.T) {
	built(t, "manager")
	shop := newShop(t)
	address := loopback.AddressFor(t)
	// The manager watches another namespace, so it does not change the objects on the page.
	m := harness.NewManager(t, shop.namespace+"-other", "manager.log")
	m.Args = append(m.Args, "--ui-bind-address", address)
	m.Run()
	shop.listens(address)
	shop.keep(staged.UnderWay(t, "web", time.Now()), staged.Stalled(t, "orders", time.Now()))
	b := browse(t, "https://"+address+"/", desk)
	enters := func(token string) {
		b.await(`document.getElementById("token")`)
		b.run(`document.getElementById("token").value = "` + token + `"; document.getElementById("namespaces").value = "` + shop.namespace + `"; document.getElementById("enter").click()`)
	}
	b.says("main", "needs a token of yours")
	enters("forged")
	b.says("main", "does not know this token")
	enters(shop.oncall())
	b.says("list", "stalled")
	for _, wrong := range ask[[]string](b, accessible) {
		t.Errorf("the list: %s", wrong)
	}
	b.visit("#/migration/" + shop.namespace + "/web")
	b.says("handoff", "is in flight")
	if ask[bool](b, `document.querySelector(".tabs").innerText.includes("What is left")`) {
		t.Error("it offers a plan")
	}
	b.press("p")
	b.await(`document.getElementById("dialog").open`)
	b.press(enter)
	b.says("dialog", "cannot patch") // the API server refuses: the user may only view
	b.run(`document.getElementById("dialog").close(); document.getElementById("leave").click()`)
	b.says("main", "The token is forgotten")
	if ask[bool](b, `document.body.innerText.includes("orders") || sessionStorage.getItem("token") !== null`) {
		t.Errorf("it still has %s", b.text("main"))
	}
	for _, wrong := range ask[[]string](b, accessible) {
		t.Errorf("the question for a token: %s", wrong)
	}
}
