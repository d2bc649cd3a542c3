package application

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/labels"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
	"github.com/sliceshift/sliceshift/migration/dependencies"
	"github.com/sliceshift/sliceshift/migration/endpoint"
	"github.com/sliceshift/sliceshift/migration/plan"
)

// Around holds the Services of both namespaces.
type Around struct{ Here, There []corev1.Service }

// lacking returns the Services of the source's namespace that the destination's lacks, by name. The governing Service
// is left out because the move creates it; so are those that select the pods, if copied is true.
func (a Around) lacking(source *appsv1.StatefulSet, copied bool) map[string]*corev1.Service {
	all := map[string]*corev1.Service{}
	for i := range a.Here {
		service := &a.Here[i]
		if service.Name == source.Spec.ServiceName || copied && ofTemplate(service, source) {
			continue
		}
		all[service.Name] = service
	}
	for i := range a.There {
		delete(all, a.There[i].Name)
	}
	return all
}

func ofTemplate(service *corev1.Service, source *appsv1.StatefulSet) bool {
	return len(service.Spec.Selector) > 0 && dependencies.Selects(labels.SelectorFromSet(service.Spec.Selector), source.Name, source.Spec.Template.Labels)
}

// ShortNames warns of Services that the pods call by a name without a cluster domain, and that exist in the source's
// namespace only: zookeeper:2181, http://zookeeper/, zookeeper.shop.
func ShortNames(sides *endpoint.Pair, source *appsv1.StatefulSet, texts []Text, around Around, copied bool) []plan.Finding {
	if sides.SameNamespace() {
		return nil
	}
	lacking := around.lacking(source, copied)
	first, names := "", map[string]bool{}
	for _, each := range slices.Concat(said(source.Spec.Template.Spec), texts) {
		for _, name := range called(each, sides.Source.Namespace, lacking) {
			if sides.SameCluster() && strings.Contains(name, ".") {
				continue // it still resolves
			}
			first = cmp.Or(first, each.where())
			names[name] = true
		}
	}
	if len(names) == 0 {
		return nil
	}
	of, at := sides.Source, sides.Destination
	shown := slices.Sorted(maps.Keys(names))
	service, _, _ := strings.Cut(shown[0], ".")
	return []plan.Finding{{
		Reason: api.ReasonNamesAreLocal, Object: of.Object(), Warning: true,
		Message: fmt.Sprintf("%s calls Services by names of namespace %s of cluster %s, in %s: %s; namespace %s of cluster %s lacks these Services, so a moved pod cannot reach them", of.Object(), of.Namespace, of.Cluster, first, plan.Listed(shown), at.Namespace, at.Cluster),
		Remedy:  "before the move, create a Service of that name there with the same backends; to see it: " + of.Kubectl().Do("get", "svc", "-n", of.Namespace, service, "-o", "yaml"),
	}}
}

// The text before and after a host name, which distinguishes it from another word.
const (
	beginsHost = `(?:^|[\s"'=,;@(\[<>|]|://|:\s)`
	endsHost   = `(?:$|[\s"',;)\]<>|/?])`
)

// hostLike matches keys whose value is a host: DB_HOST, kafka.bootstrap.servers.
var hostLike = regexp.MustCompile(`(?i)(host|addr|url|uri|server|endpoint|peer|broker|node|seed|master|primary|upstream|target|join|service)s?(name|_name|es)?$`)

// assigned matches the keys and values of a settings text in one of the usual formats.
var assigned = regexp.MustCompile(`(?m)^[ \t-]*["']?([-A-Za-z0-9_.]+)["']?[ \t]*[:=][ \t]*["']?([-A-Za-z0-9_.,:]+)["']?[ \t\r]*$`)

// called returns the given Services that a text uses as a host, as written: with a port, after a scheme, with their
// namespace, or alone as the value of a key that denotes a host.
func called(text Text, namespace string, services map[string]*corev1.Service) []string {
	var found []string
	values := map[string]string{text.Key: text.Text}
	for _, pair := range assigned.FindAllStringSubmatch(text.Text, -1) {
		values[pair[1]] = pair[2]
	}
	for _, name := range slices.Sorted(maps.Keys(services)) {
		if !strings.Contains(text.Text, name) {
			continue
		}
		quoted := regexp.QuoteMeta(name)
		full := `(` + quoted + `\.` + regexp.QuoteMeta(namespace) + `)`
		for _, form := range []string{
			beginsHost + full + `(?::\d+)?` + endsHost,
			beginsHost + `(` + quoted + `):\d{2,5}` + endsHost,
			`[a-z][a-z0-9+]*://(?:[^\s/@]*@)?(` + quoted + `)(?::\d+)?` + endsHost,
		} {
			if match := regexp.MustCompile(form).FindStringSubmatch(text.Text); match != nil {
				found = append(found, match[1])
				break
			}
		}
		for key, value := range values {
			key, _, _ = strings.Cut(strings.TrimPrefix(key, "env "), " of container ")
			if hostLike.MatchString(key) && slices.Contains(strings.Split(value, ","), name) {
				found = append(found, name)
				break
			}
		}
	}
	slices.Sort(found)
	return slices.Compact(found)
}

// Entrances warns of Services that select the pods and that the destination would lack, or would have without the
// node port that clients use.
func Entrances(sides *endpoint.Pair, source *appsv1.StatefulSet, around Around, copied bool) []plan.Finding {
	if sides.SameNamespace() {
		return nil
	}
	lacking := around.lacking(source, copied)
	var missing, ports []string
	for i := range around.Here {
		service := &around.Here[i]
		if !ofTemplate(service, source) {
			continue
		}
		if lacking[service.Name] != nil {
			missing = append(missing, service.Name)
		}
		for _, port := range service.Spec.Ports {
			if port.NodePort != 0 {
				ports = append(ports, fmt.Sprintf("%s %d", service.Name, port.NodePort))
			}
		}
	}
	of, at := sides.Source, sides.Destination
	var found []plan.Finding
	if len(missing) > 0 {
		found = append(found, plan.Finding{
			Reason: api.ReasonNamesAreLocal, Object: of.Object(), Warning: true,
			Message: fmt.Sprintf("Services %s select the pods of %s, but namespace %s of cluster %s lacks these Services: clients there cannot reach moved pods by these names", plan.Listed(missing), of.Object(), at.Namespace, at.Cluster),
			Remedy:  "create them there, or copy them: --copy-dependencies, or spec.dependencies.mode: Copy",
		})
	}
	if len(ports) > 0 && !sides.SameCluster() {
		found = append(found, plan.Finding{
			Reason: api.ReasonNamesAreLocal, Object: of.Object(), Warning: true,
			Message: fmt.Sprintf("clients may reach %s by ports of the nodes of cluster %s (%s): these lead only to pods that are still there, and to none after the last move", of.Object(), of.Cluster, plan.Listed(ports)),
			Remedy:  "before the last ordinal moves, switch clients to an address that leads to both clusters, or to the new one; the port is not copied: " + of.Kubectl().Do("get", "svc", "-n", of.Namespace),
		})
	}
	return found
}
