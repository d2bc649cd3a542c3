package evacuate

import (
	"iter"
	"slices"
	"strings"

	"github.com/sliceshift/sliceshift/migration/dependencies"
)

// Services maps each Service of the source's cluster to the StatefulSets whose pods it selects.
type Services map[Name][]Name

// Text is a text that pods get as their configuration.
type Text struct {
	// Where names its place for the user, such as "env DB_HOST of container app".
	Where string
	// Key is the name of the setting whose value it is; empty if it has none.
	Key   string
	Value string
}

// Use is a set that the pods of another set name by one of its Services.
type Use struct {
	Set Name
	// Service is the Service by which they name it, and Where the place of the text.
	Service Name
	Where   string
}

// Uses returns the sets whose Services the pods of a set name, each once, in the order of the texts. A name with its
// namespace counts anywhere, and the name of a pod with its Service. A name alone counts where it is an address: before
// a port, in a URL, or as the value of a setting whose name states that it is one.
func Uses(of Name, texts []Text, services Services) []Use {
	var found []Use
	for _, text := range texts {
		for line := range strings.Lines(text.line()) {
			for service := range services.named(of.Namespace, strings.ToLower(line)) {
				for _, set := range services[service] {
					known := func(u Use) bool { return u.Set == set }
					if set != of && !slices.ContainsFunc(found, known) {
						found = append(found, Use{Set: set, Service: service, Where: text.Where})
					}
				}
			}
		}
	}
	return found
}

// line returns the text with its key, as a line of a file.
func (t Text) line() string {
	if t.Key == "" {
		return t.Value
	}
	return t.Key + "=" + t.Value
}

// named returns the Services that a line names, from the point of view of a namespace.
func (s Services) named(namespace, line string) iter.Seq[Name] {
	return func(yield func(Name) bool) {
		for from := 0; from < len(line); {
			if !ofHost(line[from]) {
				from++
				continue
			}
			to := from
			for to < len(line) && ofHost(line[to]) {
				to++
			}
			service, found := s.host(namespace, strings.Trim(line[from:to], "-."), func() bool { return addressed(line[:from], line[to:]) })
			if found && !yield(service) {
				return
			}
			from = to
		}
	}
}

// ofHost reports whether a byte can be part of a host's name.
func ofHost(b byte) bool { return 'a' <= b && b <= 'z' || '0' <= b && b <= '9' || b == '-' || b == '.' }

// clusterPart is the label that follows the namespace in the full name of a Service.
const clusterPart = "svc"

// host returns the Service of a host's name: [POD.]SERVICE.NAMESPACE[.svc...], POD.SERVICE, or, where it is an address,
// SERVICE.
func (s Services) host(namespace, host string, address func() bool) (Name, bool) {
	labels := strings.Split(host, ".")
	for at := 0; at < 2 && at+1 < len(labels); at++ {
		service := Name{Namespace: labels[at+1], Name: labels[at]}
		whole := at+2 == len(labels) || labels[at+2] == clusterPart
		if _, known := s[service]; known && whole {
			return service, true
		}
	}
	last := labels[len(labels)-1]
	service := Name{Namespace: namespace, Name: last}
	sets, known := s[service]
	switch {
	case !known || len(labels) > 2:
		return Name{}, false
	case len(labels) == 2:
		return service, slices.ContainsFunc(sets, func(set Name) bool {
			_, of := dependencies.OrdinalOf(set.Name, labels[0])
			return of
		})
	default:
		return service, address()
	}
}

// addressed reports whether a word between two parts of a line is an address.
func addressed(before, after string) bool {
	if len(after) > 1 && after[0] == ':' && '0' <= after[1] && after[1] <= '9' {
		return true
	}
	if strings.HasSuffix(before, "://") || strings.HasSuffix(before, "@") {
		return true
	}
	key, _, found := strings.Cut(before, "=")
	if !found {
		key, _, found = strings.Cut(before, ":")
	}
	return found && statesAddress(key)
}

// addressWords are the words by which the name of a setting states that its value is an address.
var addressWords = []string{"host", "addr", "server", "url", "uri", "endpoint", "service", "broker", "bootstrap", "seed", "peer", "upstream"}

// statesAddress reports whether the name of a setting, in lower case, states that its value is an address.
func statesAddress(key string) bool {
	return slices.ContainsFunc(addressWords, func(word string) bool { return strings.Contains(key, word) })
}
