// Package recorder writes the cases of Kueue's table tests as lines of JSON. It is added to a copy of Kueue's
// module, in which each test calls Case with the values of one case (tests/conformance/recorder/place.py).
package recorder

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"
	"unicode"
	"unicode/utf8"
	"unsafe"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilfeature "k8s.io/apiserver/pkg/util/feature"
	"k8s.io/component-base/featuregate"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"sigs.k8s.io/kueue/pkg/resources"
)

var lock sync.Mutex

// Case appends a case to the file of its suite, in the folder $MUSTER_RECORDING. The suite is the name of the
// test function; gates are those that the case sets itself.
func Case(t *testing.T, name string, gates map[featuregate.Feature]bool, parts map[string]any) {
	t.Helper()
	suite, _, _ := strings.Cut(t.Name(), "/")
	line := map[string]any{
		"suite": suite, "name": name, "featureGates": gates, "gatesDifferingFromDefault": differing(), "parts": encode(reflect.ValueOf(parts)),
	}
	data, err := json.Marshal(line)
	if err != nil {
		t.Fatalf("recording %q: %v", name, err)
	}
	lock.Lock()
	defer lock.Unlock()
	path := filepath.Join(os.Getenv("MUSTER_RECORDING"), suite+".jsonl")
	file, err := os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644)
	if err != nil {
		t.Fatalf("recording %q: %v", name, err)
	}
	defer file.Close()
	if _, err := file.Write(append(data, '\n')); err != nil {
		t.Fatalf("recording %q: %v", name, err)
	}
}

// Stored returns the objects of these lists in the client, with their kinds.
func Stored(c client.Client, lists ...client.ObjectList) []runtime.Object {
	var objects []runtime.Object
	for _, list := range lists {
		if err := c.List(context.Background(), list); err != nil {
			panic(err)
		}
		items, err := meta.ExtractList(list)
		if err != nil {
			panic(err)
		}
		objects = append(objects, items...)
	}
	return objects
}

// CreationErrors returns the errors of creating each object in the client, by kind.
func CreationErrors(c client.Client, objects ...client.Object) map[string]string {
	errors := map[string]string{}
	for _, object := range objects {
		if err := c.Create(context.Background(), object); err != nil {
			errors[kind(reflect.ValueOf(object))] = err.Error()
		}
	}
	return errors
}

func differing() map[string]bool {
	gates := map[string]bool{}
	for feature, spec := range utilfeature.DefaultMutableFeatureGate.GetAll() {
		if enabled := utilfeature.DefaultFeatureGate.Enabled(feature); enabled != spec.Default {
			gates[string(feature)] = enabled
		}
	}
	return gates
}

// encode converts a value to JSON's types. API objects are marshaled as Kubernetes does; other structs
// become maps of all their fields, with names in lower camel case.
func encode(v reflect.Value) any {
	if v.Kind() == reflect.Interface {
		v = v.Elem()
	}
	if !v.IsValid() {
		return nil
	}
	switch value := v.Interface().(type) {
	case resources.FlavorResourceQuantities:
		return amounts(value)
	case time.Time:
		return metav1.NewTime(value)
	case runtime.Object:
		return object(v)
	case error:
		return value.Error()
	case json.Marshaler:
		if v.Kind() == reflect.Pointer && v.IsNil() {
			return nil
		}
		return value
	}
	if requests, ok := v.Interface().(resources.Requests); ok && !(v.Kind() == reflect.Pointer && v.IsNil()) {
		values := map[string]int64{}
		requests.ForEach(func(name corev1.ResourceName, value int64) { values[string(name)] = value })
		return values
	}
	switch v.Kind() {
	case reflect.Pointer:
		if v.IsNil() {
			return nil
		}
		return encode(v.Elem())
	case reflect.Struct:
		return structure(v)
	case reflect.Map:
		return mapping(v)
	case reflect.Slice, reflect.Array:
		return sequence(v)
	case reflect.Func, reflect.Chan:
		return nil
	case reflect.Int, reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		if named, ok := v.Interface().(fmt.Stringer); ok {
			return named.String()
		}
	}
	return v.Interface()
}

func amounts(quantities resources.FlavorResourceQuantities) any {
	if quantities == nil {
		return nil
	}
	list := make([]map[string]any, 0, len(quantities))
	for fr, amount := range quantities {
		list = append(list, map[string]any{"flavor": fr.Flavor, "resource": fr.Resource, "value": amount.Int64()})
	}
	sort.Slice(list, func(i, j int) bool { return fmt.Sprint(list[i]) < fmt.Sprint(list[j]) })
	return list
}

// object returns an API object with its kind.
func object(v reflect.Value) any {
	if v.Kind() == reflect.Pointer && v.IsNil() {
		return nil
	}
	data, err := json.Marshal(v.Interface())
	if err != nil {
		panic(err)
	}
	decoder := json.NewDecoder(bytes.NewReader(data))
	decoder.UseNumber()
	fields := map[string]any{}
	if err := decoder.Decode(&fields); err != nil {
		panic(err)
	}
	fields["kind"] = kind(v)
	return fields
}

func kind(v reflect.Value) string {
	return reflect.Indirect(v).Type().Name()
}

func structure(v reflect.Value) any {
	addressable := reflect.New(v.Type()).Elem()
	addressable.Set(v)
	if api(v.Type()) {
		if like, ok := addressable.Addr().Interface().(runtime.Object); ok {
			return object(reflect.ValueOf(like))
		}
		return addressable.Addr().Interface()
	}
	fields := map[string]any{}
	for i := range v.NumField() {
		field := addressable.Field(i)
		readable := reflect.NewAt(field.Type(), unsafe.Pointer(field.UnsafeAddr())).Elem() // also if unexported
		fields[lowerCamel(v.Type().Field(i).Name)] = encode(readable)
	}
	return fields
}

func api(t reflect.Type) bool {
	for i := range t.NumField() {
		if _, tagged := t.Field(i).Tag.Lookup("json"); tagged {
			return true
		}
	}
	return false
}

func lowerCamel(name string) string {
	first, size := utf8.DecodeRuneInString(name)
	return string(unicode.ToLower(first)) + name[size:]
}

// mapping returns a list of keys and values if the keys are structs.
func mapping(v reflect.Value) any {
	if v.IsNil() {
		return nil
	}
	if v.Type().Key().Kind() == reflect.Struct {
		list := make([]any, 0, v.Len())
		for _, key := range v.MapKeys() {
			list = append(list, map[string]any{"key": encode(key), "value": encode(v.MapIndex(key))})
		}
		return list
	}
	fields := map[string]any{}
	for _, key := range v.MapKeys() {
		fields[fmt.Sprint(key.Interface())] = encode(v.MapIndex(key))
	}
	return fields
}

func sequence(v reflect.Value) any {
	if v.Kind() == reflect.Slice && v.IsNil() {
		return nil
	}
	list := make([]any, 0, v.Len())
	for i := range v.Len() {
		list = append(list, encode(v.Index(i)))
	}
	return list
}
