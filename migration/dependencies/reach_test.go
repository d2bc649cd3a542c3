package dependencies

import (
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestReaches: a RoleBinding reaches a ServiceAccount by any of the names by which an API server knows it.
func TestReaches(t *testing.T) {
	for subject, want := range map[string]bool{
		`{kind: ServiceAccount, name: app, namespace: shop}`:   true,
		`{kind: ServiceAccount, name: app, namespace: team}`:   false,
		`{kind: ServiceAccount, name: app}`:                    true,
		`{kind: ServiceAccount, name: apple, namespace: shop}`: false,
		`{kind: User, name: "system:serviceaccount:shop:app"}`: true,
		`{kind: User, name: app}`:                              false,
		`{kind: Group, name: "system:serviceaccounts"}`:        true,
		`{kind: Group, name: "system:serviceaccounts:shop"}`:   true,
		`{kind: Group, name: "system:serviceaccounts:team"}`:   false,
		`{kind: Group, name: "system:authenticated"}`:          true,
		`{kind: Group, name: admins}`:                          false,
		`{kind: Other, name: app}`:                             false,
	} {
		binding := read(t, `{kind: RoleBinding, metadata: {name: b, namespace: shop}, subjects: [{kind: User, name: jane}, `+subject+`]}`)
		if got := Reaches(binding, "app"); got != want {
			t.Errorf("%s: %t", subject, got)
		}
	}
}

// TestSelects: a Service or a NetworkPolicy belongs to a set if it may select one of its pods.
func TestSelects(t *testing.T) {
	labels := map[string]string{"app": "web", "tier": "db"}
	for text, want := range map[string]bool{
		`{kind: Service, spec: {selector: {app: web}}}`:                                                                    true,
		`{kind: Service, spec: {selector: {app: web, tier: db}}}`:                                                          true,
		`{kind: Service, spec: {selector: {app: web, tier: cache}}}`:                                                       false,
		`{kind: Service, spec: {selector: {}}}`:                                                                            false,
		`{kind: Service, spec: {type: ExternalName, externalName: x}}`:                                                     false,
		`{kind: Service, spec: {selector: {statefulset.kubernetes.io/pod-name: web-11}}}`:                                  true,
		`{kind: Service, spec: {selector: {statefulset.kubernetes.io/pod-name: web-x}}}`:                                   false,
		`{kind: Service, spec: {selector: {statefulset.kubernetes.io/pod-name: webs-1}}}`:                                  false,
		`{kind: Service, spec: {selector: {app: web, apps.kubernetes.io/pod-index: "0"}}}`:                                 true,
		`{kind: NetworkPolicy, spec: {podSelector: {}}}`:                                                                   true,
		`{kind: NetworkPolicy, spec: {podSelector: {matchLabels: {app: web}}}}`:                                            true,
		`{kind: NetworkPolicy, spec: {podSelector: {matchExpressions: [{key: app, operator: NotIn, values: [web]}]}}}`:     false,
		`{kind: NetworkPolicy, spec: {podSelector: {matchExpressions: [{key: app, operator: Exists}]}}}`:                   true,
		`{kind: NetworkPolicy, spec: {podSelector: {matchExpressions: [{key: app, operator: Sometimes, values: [web]}]}}}`: false,
		`{kind: NetworkPolicy, spec: {podSelector: {matchLabels: wrong}}}`:                                                 false,
		`{kind: NetworkPolicy, spec: {podSelector: wrong}}`:                                                                false,
		`{kind: ConfigMap, spec: {selector: {app: web}}}`:                                                                  false,
	} {
		if got := Selects(Selector(read(t, text)), "web", labels); got != want {
			t.Errorf("%s: %t", text, got)
		}
	}
}

// TestStranger: a selected pod that does not belong to the set is named, unless it has ended.
func TestStranger(t *testing.T) {
	pod := func(name, app string, phase corev1.PodPhase) corev1.Pod {
		return corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"app": app}}, Status: corev1.PodStatus{Phase: phase}}
	}
	selector := Selector(read(t, `{kind: Service, spec: {selector: {app: web}}}`))
	pods := []corev1.Pod{pod("web-0", "web", ""), pod("job", "web", corev1.PodSucceeded), pod("old", "web", corev1.PodFailed), pod("cache-0", "cache", "")}
	if got := Stranger(selector, "web", pods); got != "" {
		t.Errorf("found %s", got)
	}
	if got := Stranger(selector, "web", append(pods, pod("web-canary", "web", corev1.PodRunning))); got != "web-canary" {
		t.Errorf("found %q", got)
	}
	if got := Stranger(nil, "web", append(pods, pod("web-canary", "web", ""))); got != "" {
		t.Errorf("nothing is selected, and found %s", got)
	}
}
