package config

import (
	"reflect"
	"strings"
	"time"
)

// durationPattern matches the durations that Load accepts, as a JSON schema pattern.
const durationPattern = `^([0-9]+(\.[0-9]+)?(ns|us|ms|s|m|h))+$`

// Schema returns the JSON schema (draft 7) of the settings file, with the description and default of each setting. It
// checks keys and types. The manager reports everything else that Validate rejects when it starts.
func Schema() map[string]any {
	root, defaults := section(), Default()
	for _, s := range settings() {
		at, key := root, s.key
		if name, rest, found := strings.Cut(s.key, "."); found {
			sections := root["properties"].(map[string]any)
			if sections[name] == nil {
				sections[name] = section()
			}
			at, key = sections[name].(map[string]any), rest
		}
		at["properties"].(map[string]any)[key] = s.schema(&defaults)
	}
	return root
}

// section returns the schema of an object that allows only listed keys.
func section() map[string]any {
	return map[string]any{"type": "object", "additionalProperties": false, "properties": map[string]any{}}
}

// schema returns the schema of one setting.
func (s setting) schema(defaults *Config) map[string]any {
	kind := map[string]any{"description": s.usage}
	switch value := s.field(defaults).(type) {
	case *[]string: // in a file it is one value, joined by commas
		kind["type"], kind["default"] = "string", strings.Join(*value, ",")
	case *time.Duration:
		kind["type"], kind["pattern"], kind["default"] = "string", durationPattern, value.String()
	case *string:
		kind["type"], kind["default"] = "string", *value
	case *bool:
		kind["type"], kind["default"] = "boolean", *value
	case *int:
		kind["type"], kind["default"] = "integer", *value
	default:
		kind["type"], kind["default"] = "number", reflect.ValueOf(value).Elem().Interface()
	}
	switch s.key {
	case "logLevel":
		kind["enum"] = []string{LogLevelInfo, LogLevelDebug}
	case "logFormat":
		kind["enum"] = []string{LogFormatJSON, LogFormatText}
	}
	return kind
}
