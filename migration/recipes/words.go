package recipes

import (
	"fmt"
	"strconv"
	"strings"

	api "github.com/sliceshift/sliceshift/api/migration/v1alpha1"
)

// Words returns the settings as command line flags.
func (s Settings) Words() []string {
	var words []string
	switch s.Order {
	case api.HighestFirst:
		words = append(words, "--order highest-first")
	case api.LowestFirst:
		words = append(words, "--order lowest-first")
	}
	if s.MaxUnavailable != nil {
		words = append(words, fmt.Sprintf("--max-unavailable %d", *s.MaxUnavailable))
	}
	if s.MinReadySeconds != nil {
		words = append(words, fmt.Sprintf("--min-ready %ds", *s.MinReadySeconds))
	}
	if s.ExportOrdinals {
		words = append(words, "--export-ordinals")
	}
	return words
}

// Shown returns a default as text for the user.
func (p Parameter) Shown() string {
	const set = "{{" + statefulSet + "}}"
	switch *p.Default {
	case "":
		return "empty"
	case set:
		return "the StatefulSet's name"
	default:
		return strings.ReplaceAll(*p.Default, set, "STATEFULSET")
	}
}

// Run describes in a few words when a hook is run.
func (h Hook) Run() string { return fmt.Sprintf("runs a Job, %v", h.Hook["point"]) }

// Asked describes in a few words how and when a gate is queried.
func (g Gate) Asked() string {
	points, _ := g.Gate["at"].([]any)
	words := make([]string, 0, len(points))
	for _, point := range points {
		words = append(words, fmt.Sprint(point))
	}
	how := "asks"
	for kind, text := range map[string]string{"http": "asks the pod by HTTP", "grpc": "asks the pod by gRPC", "cel": "looks at objects", "prometheus": "asks Prometheus", "job": "runs a Job"} {
		if _, is := g.Gate[kind]; is {
			how = text
		}
	}
	text := how + ", " + strings.Join(words, " and ")
	if g.When != "" {
		text += ", unless " + g.When + "=" + strconv.FormatBool(false)
	}
	return text
}
