package health

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/migration/v1alpha1"
)

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// variables are what stands in a text for what is asked about. All of them are names of Kubernetes or
// numbers: none can end a string of PromQL.
func (s Subject) variables() map[string]string {
	known := map[string]string{"namespace": s.Namespace, "statefulset": s.StatefulSet, "pod": s.Pod, "ordinal": ""}
	if s.Ordinal != nil {
		known["ordinal"] = strconv.Itoa(int(*s.Ordinal))
	}
	return known
}

// checkText says what is wrong with a text that holds variables, for a gate that is asked at some points.
func checkText(field, text string, points []api.GatePoint) error {
	known := Subject{}.variables()
	for _, found := range variable.FindAllStringSubmatch(text, -1) {
		name := found[1]
		if _, is := known[name]; !is {
			return refuse(api.ReasonGateInvalid, fmt.Sprintf("%s: there is no ${%.63s}; there are ${%s}", field, name, strings.Join(slices.Sorted(maps.Keys(known)), "}, ${")))
		}
		if slices.Contains(points, api.GateAtEnd) && (name == "ordinal" || name == "pod") {
			return refuse(api.ReasonGateInvalid, fmt.Sprintf("%s: ${%s} stands for nothing AtEnd, where no single ordinal is asked about; leave it out, or use one gate for each point", field, name))
		}
	}
	return nil
}

// fill puts in what variables stand for.
func (s Subject) fill(text string) string {
	known := s.variables()
	return variable.ReplaceAllStringFunc(text, func(found string) string { return known[found[2:len(found)-1]] })
}
