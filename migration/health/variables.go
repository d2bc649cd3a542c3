package health

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

var variable = regexp.MustCompile(`\$\{([^}]*)\}`)

// Variables maps the names of variables in a text to their values. All values are Kubernetes names, numbers or
// times, so none can end a string of PromQL.
type Variables map[string]string

// Check returns an error if a text uses an unknown variable. The error is an *InvalidError.
func (v Variables) Check(field, text string) error {
	for _, found := range variable.FindAllStringSubmatch(text, -1) {
		if _, is := v[found[1]]; !is {
			return refuse(api.ReasonGateInvalid, fmt.Sprintf("%s: there is no ${%.63s}; there are ${%s}", field, found[1], strings.Join(slices.Sorted(maps.Keys(v)), "}, ${")))
		}
	}
	return nil
}

// Fill replaces the variables in a text.
func (v Variables) Fill(text string) string {
	return variable.ReplaceAllStringFunc(text, func(found string) string { return v[found[2:len(found)-1]] })
}

func (s Subject) variables() Variables {
	known := Variables{"namespace": s.Namespace, "statefulset": s.StatefulSet, "pod": s.Pod, "ordinal": ""}
	if s.Ordinal != nil {
		known["ordinal"] = strconv.Itoa(int(*s.Ordinal))
	}
	return known
}

// checkText returns an error if a text uses variables that are unknown, or that have no value at one of a
// gate's points.
func checkText(field, text string, points []api.GatePoint) error {
	if err := (Subject{}).variables().Check(field, text); err != nil {
		return err
	}
	for _, found := range variable.FindAllStringSubmatch(text, -1) {
		if name := found[1]; slices.Contains(points, api.GateAtEnd) && (name == "ordinal" || name == "pod") {
			return refuse(api.ReasonGateInvalid, fmt.Sprintf("%s: ${%s} stands for nothing AtEnd, where no single ordinal is asked about; leave it out, or use one gate for each point", field, name))
		}
	}
	return nil
}

// fill replaces the variables in a text.
func (s Subject) fill(text string) string { return s.variables().Fill(text) }
