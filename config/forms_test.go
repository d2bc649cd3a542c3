package config

import (
	"strings"
	"testing"

	sliceapi "github.com/sliceshift/sliceshift/api/apps/v1alpha1"
)

// TestY1SelectorComparesByMeaning: an empty list is no change of a selector, and every other difference is.
func TestY1SelectorComparesByMeaning(t *testing.T) {
	rules := newAdmission(t, sliceapi.GroupVersion.Group)
	update := func(before, after string) string {
		spec := func(selector string) string {
			return "selector: " + selector + ", template: {metadata: {labels: {app: web, tier: db}}, spec: {containers: [{name: web, image: web}]}}"
		}
		return strings.Join(rules.update(t, spec(before), spec(after)), "\n")
	}
	for _, same := range [][]string{
		{"{matchLabels: {app: web}}", "{matchLabels: {app: web}, matchExpressions: []}", "{matchLabels: {app: web}, matchExpressions: null}"},
		{"{matchExpressions: [{key: app, operator: Exists}]}", "{matchLabels: {}, matchExpressions: [{key: app, operator: Exists, values: []}]}"},
	} {
		for _, before := range same {
			for _, after := range same {
				if got := update(before, after); got != "" {
					t.Errorf("%s to %s: %s", before, after, got)
				}
			}
		}
	}
	different := []string{
		"{matchLabels: {app: web}}", "{matchLabels: {app: web, tier: db}}", "{matchExpressions: [{key: app, operator: Exists}]}", "{matchExpressions: [{key: tier, operator: Exists}]}",
		"{matchExpressions: [{key: app, operator: In, values: [web]}]}", "{matchExpressions: [{key: app, operator: In, values: [web, x]}]}", "{matchExpressions: [{key: app, operator: NotIn, values: [x]}]}",
	}
	for i, before := range different {
		for j, after := range different {
			if got := update(before, after); (i == j) != (got == "") || i != j && !strings.Contains(got, "selector is immutable") {
				t.Errorf("%s to %s: %q", before, after, got)
			}
		}
	}
}

// TestY1InPlaceOnlyComparesByMeaning: with InPlaceOnly, a field that is left out or empty is no change of the template.
func TestY1InPlaceOnlyComparesByMeaning(t *testing.T) {
	rules := newAdmission(t, sliceapi.GroupVersion.Group)
	update := func(before, after string) string {
		spec := func(pod string) string {
			return `selector: {matchLabels: {app: web}}, updateStrategy: {rollingUpdate: {podUpdatePolicy: InPlaceOnly}},
				template: {metadata: {labels: {app: web}}, spec: {readinessGates: [{conditionType: InPlaceUpdateReady}], ` + pod + `}}`
		}
		return strings.Join(rules.update(t, spec(before), spec(after)), "\n")
	}
	plain := "containers: [{name: web, image: web}]"
	for _, same := range []string{
		plain,
		`containers: [{name: web, image: web, command: [], args: [], workingDir: "", env: [], envFrom: [], volumeMounts: [], ports: []}]`,
		plain + `, initContainers: [], volumes: [], nodeSelector: {}, serviceAccountName: "", hostNetwork: false, priorityClassName: ""`,
		"containers: [{name: web, image: 'web:2', resources: {requests: {cpu: 1}}}]",
	} {
		for _, pair := range [][2]string{{plain, same}, {same, plain}} {
			if got := update(pair[0], pair[1]); got != "" {
				t.Errorf("%s to %s: %s", pair[0], pair[1], got)
			}
		}
	}
	for _, other := range []string{
		"containers: [{name: web, image: web, command: [sh]}]", "containers: [{name: web, image: web, args: [x]}]", "containers: [{name: web, image: web, workingDir: /x}]",
		"containers: [{name: web, image: web, env: [{name: a, value: b}]}]", "containers: [{name: web, image: web, envFrom: [{prefix: a}]}]",
		"containers: [{name: web, image: web, volumeMounts: [{name: a, mountPath: /a}]}]", "containers: [{name: web, image: web, ports: [{containerPort: 80}]}]",
		plain + ", initContainers: [{name: a, image: a}]", plain + ", volumes: [{name: a}]", plain + ", nodeSelector: {a: b}", plain + ", serviceAccountName: a",
		plain + ", hostNetwork: true", plain + ", priorityClassName: a", plain + ", runtimeClassName: a",
	} {
		for _, pair := range [][2]string{{plain, other}, {other, plain}} {
			if got := update(pair[0], pair[1]); !strings.Contains(got, "template cannot be changed in place") || strings.Contains(got, "evaluation") {
				t.Errorf("%s to %s: %q", pair[0], pair[1], got)
			}
		}
	}
}
