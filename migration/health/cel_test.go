package health

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/internal/clusters/clustertest"
)

// objectsIn returns an API server with some objects, in JSON by their path.
func objectsIn(objects map[string]string) *clustertest.Pods {
	kinds, _ := json.Marshal(metav1.APIResourceList{TypeMeta: metav1.TypeMeta{Kind: "APIResourceList", APIVersion: "v1"}, GroupVersion: "v1", APIResources: []metav1.APIResource{
		{Name: "configmaps", Kind: "ConfigMap", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		{Name: "secrets", Kind: "Secret", Namespaced: true, Verbs: metav1.Verbs{"get", "list"}},
		{Name: "namespaces", Kind: "Namespace", Verbs: metav1.Verbs{"get", "list"}},
	}})
	return &clustertest.Pods{Before: func(w http.ResponseWriter, r *http.Request) bool {
		if r.URL.Path == "/api/v1" {
			w.Header().Set("Content-Type", "application/json")
			_, _ = w.Write(kinds)
			return true
		}
		object, exists := objects[r.URL.Path]
		if strings.Contains(r.URL.Path, "/secrets/") && !exists {
			clustertest.Refuse(w, http.StatusForbidden, metav1.StatusReasonForbidden, `secrets "a" is forbidden: User "mover" cannot get resource "secrets"`)
			return true
		}
		if exists {
			w.Header().Set("Content-Type", "application/json")
			fmt.Fprint(w, object)
		}
		return exists
	}}
}

func configMap(namespace, name, data string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMap","metadata":{"namespace":%q,"name":%q},"data":%s}`, namespace, name, data)
}

func listOf(next string, items ...string) string {
	return fmt.Sprintf(`{"apiVersion":"v1","kind":"ConfigMapList","metadata":{"continue":%q},"items":[%s]}`, next, strings.Join(items, ","))
}

func oneMap(name, expression string) *api.CELGate {
	return &api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "ConfigMap", Name: name}, Expression: expression}
}

func allMaps(namespace, expression string) *api.CELGate {
	return &api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "ConfigMap", Namespace: namespace, Selector: &metav1.LabelSelector{}}, Expression: expression}
}

func TestCEL(t *testing.T) {
	t.Parallel()
	many := func(namespace string) []string {
		all := make([]string, 300)
		for i := range all {
			all[i] = configMap(namespace, fmt.Sprint("m", i), fmt.Sprintf(`{"a":%q}`, strings.Repeat("a", 100)))
		}
		return all
	}
	sides := sidesOf(t, objectsIn(map[string]string{
		"/api/v1/namespaces/shop/configmaps/web-2":  configMap("shop", "web-2", `{"ready":"true","lag":"40"}`),
		"/api/v1/namespaces/shop/configmaps":        listOf("", configMap("shop", "web-2", `{"a":"1"}`), configMap("shop", "web-3", `{"a":"2"}`)),
		"/api/v1/namespaces/none/configmaps":        listOf(""),
		"/api/v1/namespaces/many/configmaps":        listOf("", many("many")...),
		"/api/v1/namespaces/more/configmaps":        listOf("next", many("more")...),
		"/api/v1/namespaces/huge/configmaps":        listOf("", configMap("huge", "a", fmt.Sprintf(`{"a":%q}`, strings.Repeat("a", maxBytes)))),
		"/api/v1/namespaces/shop-ops/configmaps/of": configMap("shop-ops", "of", `{}`),
		"/api/v1/namespaces/shop/secrets/login":     `{"apiVersion":"v1","kind":"Secret","metadata":{"namespace":"shop","name":"login"},"data":{"password":"aHVudGVyMg=="}}`,
		"/api/v1/namespaces/shop/configmaps/other":  configMap("shop", "another", `{}`),
		"/api/v1/namespaces/shop":                   `{"apiVersion":"v1","kind":"Namespace","metadata":{"name":"shop"},"status":{"phase":"Active"}}`,
	}))
	secret := func(expression string) *api.CELGate {
		return &api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "Secret", Name: "login"}, Expression: expression}
	}
	costly := `objects.all(a, objects.all(b, objects.all(c, a.data.a + b.data.a != c.data.a)))`
	for name, tc := range map[string]struct {
		gate    *api.CELGate
		subject Subject
		want    want
	}{
		"true":                    {oneMap("web-2", `object.data.ready == 'true'`), web2, good("is true over ConfigMap of namespace shop in cluster east web-2")},
		"false":                   {oneMap("web-2", `int(object.data.lag) < 10`), web2, bad("cel.expression is false over ConfigMap of namespace shop in cluster east web-2")},
		"of the ordinal":          {oneMap("${statefulset}-${ordinal}", `object.metadata.name == pod && ordinal == 2 && side == 'Destination'`), web2, good()},
		"all":                     {allMaps("", `objects.all(o, has(o.data.a)) && objects.map(o, int(o.data.a)).sum() == 3`), web2, good("over 2 ConfigMap of namespace shop")},
		"none is all":             {allMaps("none", `objects.size() == 0 && object == null`), web2, good()},
		"another namespace":       {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "ConfigMap", Namespace: "${namespace}-ops", Name: "of"}, Expression: `object.metadata.namespace == 'shop-ops'`}, web2, good()},
		"no namespace":            {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "Namespace", Namespace: "ignored", Name: "shop"}, Expression: `object.status.phase == 'Active'`}, web2, good("Namespace in cluster east shop")},
		"at the end":              {oneMap("web-2", `ordinal == null && pod == ''`), atEnd, good()},
		"absent is asked for":     {oneMap("gone", `object == null`), web2, good("gone, which does not exist")},
		"absent":                  {oneMap("gone", `object.data.ready == 'true'`), web2, bad("gone, which does not exist")},
		"a field is missing":      {oneMap("web-2", `object.data.raedy == 'true'`), web2, bad("no such key: raedy", "has()")},
		"a field may be missing":  {oneMap("web-2", `object.?data.?raedy.orValue('true') == 'true'`), web2, good()},
		"divided by nothing":      {oneMap("web-2", `1 / (int(object.data.lag) - 40) == 1`), web2, bad("division by zero")},
		"no CEL":                  {oneMap("web-2", "true &&\n  (object.a"), web2, wrong("cel.expression is no CEL", "line 2, column ")},
		"unknown":                 {oneMap("web-2", `obiect.data == {}`), web2, wrong("line 1, column 1: undeclared reference to 'obiect'")},
		"a number":                {oneMap("web-2", `1 + 1`), web2, wrong("yields int")},
		"a text, found out late":  {oneMap("web-2", `object.data.ready`), web2, wrong("neither true nor false, but string")},
		"apples and pears":        {oneMap("web-2", `object.data.lag < 10`), web2, wrong("no such overload")},
		"the end has no ordinal":  {oneMap("web-2", `ordinal > 1`), atEnd, wrong("no such overload")},
		"too costly":              {allMaps("many", costly), web2, tooDear("costs more than 100000 over 300 ConfigMap")},
		"too costly for anything": {oneMap("web-2", dear()), web2, tooDear("costs at least")},
		"too many":                {allMaps("more", `true`), web2, tooDear("more than 500")},
		"too large":               {allMaps("huge", `true`), web2, tooDear("4 MiB")},
		"no right":                {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "Secret", Name: "a"}, Expression: `true`}, web2, none("Secret of namespace shop in cluster east a could not be read, because a permission is missing")},
		"of a Secret":             {secret(`object.data.password == 'aHVudGVyMg=='`), web2, good("Secret of namespace shop in cluster east login")},
		"quotes a Secret":         {secret(`ip(object.data.password).family() == 4`), web2, bad("cannot be answered over Secret", "has()").without("aHVudGVyMg")},
		"asks for what it says":   {secret(`object.data[object.data.password] == ''`), web2, bad("cannot be answered over Secret").without("aHVudGVyMg")},
		"no such kind":            {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "Confmap", Name: "a"}, Expression: `true`}, web2, wrong("the cluster serves no such kind in v1", "kubectl api-resources")},
		"the answer of another":   {oneMap("other", `true`), web2, none("another object")},
		"no kind":                 {&api.CELGate{Objects: api.GateObjects{APIVersion: "a/b/c", Kind: "A", Name: "a"}, Expression: `true`}, web2, wrong("no apiVersion and kind")},
		"neither":                 {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "ConfigMap"}, Expression: `true`}, web2, wrong("either name or selector")},
		"no selector": {&api.CELGate{Objects: api.GateObjects{APIVersion: "v1", Kind: "ConfigMap", Selector: &metav1.LabelSelector{
			MatchExpressions: []metav1.LabelSelectorRequirement{{Key: "a", Operator: "Like"}},
		}}, Expression: `true`}, web2, wrong("cel.objects.selector")},
		"no variable": {oneMap("web-${ordinals}", `true`), web2, wrong("cel.objects.name: there is no ${ordinals}", "${statefulset}")},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			tc.want.check(t, ask(t.Context(), t, api.HealthGate{CEL: tc.gate, At: []api.GatePoint{tc.subject.Point}}, sides, tc.subject))
		})
	}
}

// dear returns an expression with a high cost for any input.
func dear() string {
	ten := "[0,1,2,3,4,5,6,7,8,9]"
	text := "[1]"
	for _, v := range "abcdefg" {
		text = fmt.Sprintf("%s.map(%c, %s)", ten, v, text)
	}
	return text + ".size() > 0"
}

// TestCELNoOrdinal: a variable without a value at a point is refused before the gate is queried.
func TestCELNoOrdinal(t *testing.T) {
	t.Parallel()
	gate := api.HealthGate{CEL: oneMap("${pod}", "true"), At: []api.GatePoint{api.GateAfterStart, api.GateAtEnd}}
	wrong("cel.objects.name: ${pod} stands for nothing AtEnd").check(t, ask(t.Context(), t, gate, Sides{}, atEnd))
}

// TestCELUnreachable: a cluster that does not answer gives no answer about the application.
func TestCELUnreachable(t *testing.T) {
	t.Parallel()
	release := make(chan struct{})
	sides := sidesOf(t, &clustertest.Pods{Before: func(http.ResponseWriter, *http.Request) bool {
		<-release
		return true
	}})
	t.Cleanup(func() { close(release) })
	none("whether cluster east answers").check(t, ask(shortly(t), t, api.HealthGate{CEL: oneMap("a", "true")}, sides, web2))
}

// TestCELCancelled: an evaluation ends with its context.
func TestCELCancelled(t *testing.T) {
	t.Parallel()
	e, err := compile("e", `objects.all(a, objects.all(b, a != b + 1))`, ofObjects)
	if err != nil {
		t.Fatal(err)
	}
	many := make([]any, 400)
	for i := range many {
		many[i] = int64(i * 2)
	}
	ctx := shortly(t)
	<-ctx.Done()
	holds, err := e.holds(ctx, map[string]any{"objects": many})
	none("timeoutSeconds").check(t, answerTo("e", "objects", holds, err))
}
