package application

import (
	"cmp"
	"fmt"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Text is one entry of a ConfigMap that the pods use.
type Text struct{ ConfigMap, Key, Text string }

// address matches a name under a cluster's domain, which may be other than cluster.local. Substitutions, such as
// $(POD_NAME).web, are part of it.
var address = regexp.MustCompile(`[A-Za-z0-9$({][-A-Za-z0-9_.$(){}%]*\.svc(\.[A-Za-z0-9][-A-Za-z0-9.]*)?\b`)

// clusterset is the prefix of the domain of names that resolve in all clusters of a set (KEP-1645).
const clusterset = "clusterset."

// Addresses warns of names in the template and its ConfigMaps that resolve to the pods of one cluster only, and
// returns the name that will resolve to all. Within a cluster a name still resolves to the same pods, unless their
// namespace or name changes.
func Addresses(sides *endpoint.Pair, source *appsv1.StatefulSet, texts []Text, asks api.ServicesSpec) []plan.Finding {
	from, to := sides.Source, sides.Destination
	if sides.SameCluster() && from.Namespace == to.Namespace && from.Set == to.Set {
		return nil
	}
	own := ownNames(source)
	names, first := map[string]bool{}, ""
	for _, each := range slices.Concat(said(source.Spec.Template.Spec), texts) {
		for _, name := range slices.Concat(address.FindAllString(each.Text, -1), own.FindAllString(each.Text, -1)) {
			if strings.Contains(name, ".svc."+clusterset) || sides.SameCluster() && !ofPods(name, from, source) {
				continue
			}
			if !names[name] {
				first = cmp.Or(first, each.where())
			}
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	shown := plan.Listed(sorted(names))
	object := from.Object()
	if sides.SameCluster() {
		return []plan.Finding{{
			Reason: api.ReasonNamesAreLocal, Object: object, Warning: true,
			Message: fmt.Sprintf("%s names its own pods in %s: %s; moved ones are called after StatefulSet %s/%s, and are not found under these names", object, first, shown, to.Namespace, to.Set),
			Remedy:  "let the application take its names from the pod (fieldRef metadata.namespace, metadata.name), or keep namespace and name",
		}}
	}
	return []plan.Finding{{
		Reason: api.ReasonNamesAreLocal, Object: object, Warning: true,
		Message: fmt.Sprintf("%s uses names that lead to pods of their own cluster only, in %s: %s; on the other side they lead to other pods, or to none", object, first, shown),
		Remedy:  remedy(from, source, asks),
	}}
}

// remedy returns the names that resolve to the pods of all clusters, or the setting that creates them.
func remedy(from endpoint.Endpoint, source *appsv1.StatefulSet, asks api.ServicesSpec) string {
	ordinal := fmt.Sprintf("ordinal N is %s-N.%s.svc.%slocal", from.Set, from.Namespace, clusterset)
	service := fmt.Sprintf("the Service is %s.%s.svc.%slocal", source.Spec.ServiceName, from.Namespace, clusterset)
	switch {
	case asks.PerOrdinal == api.PerOrdinalExport:
		return ordinal + ", on whichever side it runs; use these names before the move, or let the others resolve in both clusters"
	case asks.Export:
		return service + " in both clusters; with spec.services.perOrdinal: Export " + ordinal + "; use these names before the move"
	default:
		return "with spec.services.perOrdinal: Export " + ordinal + ", and with export " + service + "; use these names before the move, or let the others resolve in both clusters"
	}
}

// ownNames matches short names with which a pod calls another one: web-0.web.
func ownNames(source *appsv1.StatefulSet) *regexp.Regexp {
	service := cmp.Or(source.Spec.ServiceName, source.Name)
	return regexp.MustCompile(`\b` + regexp.QuoteMeta(source.Name) + `-[0-9]+\.` + regexp.QuoteMeta(service) + `\b`)
}

// ofPods reports whether a name is that of one of the source's pods, or of their Service.
func ofPods(name string, from endpoint.Endpoint, source *appsv1.StatefulSet) bool {
	service := cmp.Or(source.Spec.ServiceName, source.Name)
	return strings.Contains("."+name+".", "."+service+"."+from.Namespace+".svc.") || ownNames(source).MatchString(name)
}

// said returns the texts in the containers of a pod.
func said(spec corev1.PodSpec) (all []Text) {
	for _, c := range slices.Concat(spec.InitContainers, spec.Containers) {
		add := func(what, text string) {
			all = append(all, Text{Key: fmt.Sprintf("%s of container %s", what, c.Name), Text: text})
		}
		for _, env := range c.Env {
			add("env "+env.Name, env.Value)
		}
		add("command", strings.Join(c.Command, " "))
		add("args", strings.Join(c.Args, " "))
	}
	return all
}

func (t Text) where() string {
	if t.ConfigMap == "" {
		return t.Key
	}
	return fmt.Sprintf("%s of ConfigMap %s", t.Key, t.ConfigMap)
}

func sorted(names map[string]bool) []string {
	var all []string
	for name := range names {
		all = append(all, name)
	}
	slices.Sort(all)
	// A part of a longer name is no name of its own.
	return slices.DeleteFunc(slices.Clone(all), func(name string) bool {
		return slices.ContainsFunc(all, func(other string) bool { return other != name && strings.Contains(other, name) })
	})
}
